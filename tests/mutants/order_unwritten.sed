# The last thread does not write down its number.
# Seen: one element is left as it was poisoned.
#: template = thread_order
#: file = thread_order.cu
#: unit = thread
s/thread \/ THREADS < n) {/thread \/ THREADS + 1 < n) {/
