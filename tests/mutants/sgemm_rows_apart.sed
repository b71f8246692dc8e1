# Threads that exchange their sums store them in rows below each other, though their rows are apart.
# Seen: rows of C that are not aligned to 16 bytes have the sums of other rows, and some rows have none.
#: template = sgemm
#: file = sgemm_store.cuh
#: m = 128
#: n = 131
#: k = 64
#: method = overlapped
s/(4 \* LANES_N) \* Place::ROWS_APART/(4 * LANES_N)/
