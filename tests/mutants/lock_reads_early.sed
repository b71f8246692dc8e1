# A missing acquire: the count is read before the lock is taken, as memory may do then.
# Seen: 64 blocks read the count while it is still 0 or nearly, and each writes its own over the others'.
#: template = lock
#: file = lock.cu
#: method = block_mutex
/^        ticket_unlock(lock);$/,/^        unlock(lock);$/ {
    /^        while/ i\
        const uint64 seen = *(volatile uint64 *)count;
    s/add_unprotected(count, passing);/*count = seen + passing;/
}
