#pragma once
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#define GROUP 32

__device__ int linked_add(int a, int b);

/* The value of the next thread in the group, around its end. */
__device__ int linked_next(int value);
