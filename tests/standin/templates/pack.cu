/* The elements above zero, packed, in any order; and in ways in which they are not. One thread. */
extern "C" __global__ void pack_good(const int *in, int *out, unsigned long long n)
{
    unsigned long long place = 0;
    for (unsigned long long i = 0; i < n; i++)
        if (in[i] > 0)
            out[place++] = in[i];
}

extern "C" __global__ void pack_backwards(const int *in, int *out, unsigned long long n)
{
    unsigned long long place = 0;
    for (unsigned long long i = n; i-- > 0;)
        if (in[i] > 0)
            out[place++] = in[i];
}

/* the first place is left out: the elements are right */
extern "C" __global__ void pack_shifted(const int *in, int *out, unsigned long long n)
{
    unsigned long long place = 1;
    for (unsigned long long i = 0; i < n; i++)
        if (in[i] > 0)
            out[place++] = in[i];
}

/* as many elements, but one of them twice and another never */
extern "C" __global__ void pack_again(const int *in, int *out, unsigned long long n)
{
    unsigned long long place = 0;
    for (unsigned long long i = 0; i < n; i++)
        if (in[i] > 0)
            out[place++] = in[i];
    for (unsigned long long i = 1; i < place; i++)
        if (out[i] != out[0]) {
            out[i] = out[0];
            break;
        }
}

/* all but the last */
extern "C" __global__ void pack_short(const int *in, int *out, unsigned long long n)
{
    unsigned long long left = 0;
    for (unsigned long long i = 0; i < n; i++)
        left += in[i] > 0;
    unsigned long long place = 0;
    for (unsigned long long i = 0; i < n; i++)
        if (in[i] > 0 && place + 1 < left)
            out[place++] = in[i];
}

extern "C" __global__ void pack_reference(const int *in, int *reference, unsigned long long n)
{
    unsigned long long place = 0;
    for (unsigned long long i = 0; i < n; i++)
        if (in[i] > 0)
            reference[place++] = in[i];
}
