# An atomic maximum returns the new value in place of the old one.
# Seen: no thread accounts for a change then, but the word has changed.
#: template = atomic_operations
#: file = atomic_operations.cu
#: atomic = max
s/return atomicMax(word, value);/return max(atomicMax(word, value), value);/
