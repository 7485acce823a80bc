#ifndef SYNOP_VERSION_H
#define SYNOP_VERSION_H

#define SYNOP_VERSION "0.1.0"

#endif
