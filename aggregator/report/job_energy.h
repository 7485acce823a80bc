/* The energy of a job in kWh, and what it cost. */
#ifndef SYNOP_AGGREGATOR_JOB_ENERGY_H
#define SYNOP_AGGREGATOR_JOB_ENERGY_H

#include "aggregator/report/job_report.h"
#include "synop/buffer.h"

double job_energy_kwh (const struct job_report *report);       /* NaN: not known, as those that follow */
double job_energy_estimated (const struct job_report *report); /* percent of it */
double job_energy_cost (const struct job_report *report);      /* in report->prices.currency */
double job_energy_co2 (const struct job_report *report);       /* kg */

/* "1.23 kWh, 412 W in the mean, 30 % of it estimated"; "0.38 EUR, 0.43 kg of CO2". Nothing where it is not known. */
void job_energy_words (struct buffer *to, const struct job_report *report);
void job_cost_words (struct buffer *to, const struct job_report *report);

#endif
