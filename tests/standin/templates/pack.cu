/* The elements above zero, packed, in any order; and in ways in which they are not. One thread. */
typedef unsigned long long u64;

/* `shifted` leaves out the first place, though the elements are right; `again` has one element twice and another never;
 * `cut` lacks the last. */
extern "C" __global__ void pack_run(const int *in, int *out, u64 n, bool backwards, bool shifted, bool again, bool cut)
{
    u64 left = 0, place = shifted;
    for (u64 i = 0; i < n; i++)
        left += in[i] > 0;
    for (u64 i = 0; i < n; i++) {
        int x = in[backwards ? n - 1 - i : i];
        if (x > 0 && left-- > (cut ? 1 : 0))
            out[place++] = x;
    }
    for (u64 i = 1; i < place && again; i++)
        if (out[i] != out[0]) {
            out[i] = out[0];
            break;
        }
}

extern "C" __global__ void pack_reference(const int *in, int *reference, u64 n)
{
    u64 place = 0;
    for (u64 i = 0; i < n; i++)
        if (in[i] > 0)
            reference[place++] = in[i];
}
