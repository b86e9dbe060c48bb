#include "draws.h"

#include <string.h>

static double natural_log(double number);

struct draws draws_begin(uint64_t seed, size_t worker)
{
    return (struct draws){seed + ((uint64_t)worker + 1) * UINT64_C(0xD1B54A32D192ED03)};
}

double draws_exponential(struct draws *draws)
{
    draws->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = draws->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    const double below_1 = (double)(mixed >> 11) / (double)(UINT64_C(1) << 53);
    return -natural_log(1 - below_1);
}

/*
 * Of a normal number above 0. It is here because the one of the C library is in a part that must be linked by name, and
 * the peer builds with one plain command.
 */
static double natural_log(double number)
{
    /* ln 2 in two parts, the first with so few digits that its products with an exponent are exact. */
    static const double LN_2_HIGH = 6.93147180369123816490e-01;
    static const double LN_2_LOW = 1.90821492927058770002e-10;
    static const double HALF_ROOT = 0.70710678118654752440;
    static const double PARTS[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                   2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    /* The number is mantissa · 2^exponent, with the mantissa from √½ to √2, where the series ends soon. */
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    int exponent = (int)(bits >> 52) - 1022;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1022) << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    if (mantissa < HALF_ROOT) {
        mantissa *= 2;
        exponent--;
    }
    /*
     * With f = m - 1 and s = f / (2 + f), ln m = 2 (s + s³/3 + s⁵/5 + …). Taken as below, f itself stays exact and only
     * small terms are rounded (fdlibm, e_log.c).
     */
    const double f = mantissa - 1;
    const double half = f * f / 2;
    const double s = f / (2 + f);
    const double square = s * s;
    double sum = 0;
    for (size_t part = sizeof PARTS / sizeof *PARTS; part > 0; part--) {
        sum = (sum + PARTS[part - 1]) * square;
    }
    return exponent * LN_2_HIGH - ((half - (s * (half + sum) + exponent * LN_2_LOW)) - f);
}
