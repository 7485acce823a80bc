/* See job_energy.h. */
#include "aggregator/report/job_energy.h"

#include <math.h>

#include "aggregator/report/job_words.h"

#define JOULES_OF_KWH 3.6e6

double
job_energy_kwh (const struct job_report *report)
{
  return report->all[JOB_ENERGY].total / JOULES_OF_KWH;
}

double
job_energy_estimated (const struct job_report *report)
{
  double all = report->all[JOB_ENERGY].total;

  return all > 0 ? 100 * report->all[JOB_ENERGY_ESTIMATED].total / all : nan ("");
}

double
job_energy_cost (const struct job_report *report)
{
  return job_energy_kwh (report) * report->prices.cost;
}

double
job_energy_co2 (const struct job_report *report)
{
  return job_energy_kwh (report) * report->prices.co2;
}

void
job_energy_words (struct buffer *to, const struct job_report *report)
{
  double kwh = job_energy_kwh (report), estimated = job_energy_estimated (report);

  if (isnan (kwh))
    return;
  buffer_add_string (to, words_value (kwh * 1000, "Wh").text);
  if (!isnan (report->all[JOB_ENERGY].mean))
    buffer_printf (to, ", %s in the mean", words_value (report->all[JOB_ENERGY].mean, "W").text);
  if (estimated > 0)
    buffer_printf (to, ", %s %% of it estimated", words_number (estimated).text);
}

void
job_cost_words (struct buffer *to, const struct job_report *report)
{
  double cost = job_energy_cost (report), co2 = job_energy_co2 (report);

  if (!isnan (cost))
    buffer_printf (to, "%s %s", words_number (cost).text, report->prices.currency);
  if (!isnan (co2))
    buffer_printf (to, "%s%s kg of CO2", isnan (cost) ? "" : ", ", words_number (co2).text);
}
