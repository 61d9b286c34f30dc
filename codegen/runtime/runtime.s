// Runtime of a tile: start, end, and what rows, host transfers and samples need (package.md 3, 4.2).
// The supervisor's stack pointer is $m11; $m15 reads as zero. Labels are symbols without their prefix.

start:
    sync 3
    sync 1
    setzi $m0, 0x640                // no source
    put 0xa0, $m0
    put 0xa7, $m15
    setzi $m11, worker_stack_base
    put 0x21, $m11
    add $m11, $m11, 0x100
    put 0x22, $m11
    add $m11, $m11, 0x100
    put 0x23, $m11
    add $m11, $m11, 0x100
    put 0x24, $m11
    add $m11, $m11, 0x100
    put 0x25, $m11
    add $m11, $m11, 0x100
    put 0x26, $m11
    add $m11, $m11, 0x100           // above worker 5's base: the supervisor's own 256 bytes
    setzi $m0, worker_init
    runall $m0, $m15, 0
    sync 1
    setzi $m0, 0x600
    put 0xa0, $m0
    sync 7
    setzi $m0, 0x640
    put 0xa0, $m0
    setzi $m0, program
    br $m0

// End of the program: the completion word is set, and every supervisor reads as inactive.
complete:
    setzi $m0, 1
    setzi $m1, completion
    st32 $m0, $m1, $m15, 0
    br $m15

// Workers that exit at once. Returns by $m7.
worker_barrier:
    setzi $m0, worker_exit
    runall $m0, $m15, 0
    sync 1
    br $m7

// $m2 row, $m3 byte offsets, $m4 words, $m5 how many. Returns by $m9.
patch_row:
    brz $m5, patch_row_done
patch_row_next:
    ld32 $m0, $m3, $m15, 0
    ld32 $m1, $m4, $m15, 0
    st32 $m1, $m2, $m0, 0
    add $m3, $m3, 4
    add $m4, $m4, 4
    add $m5, $m5, -1
    brnz $m5, patch_row_next
patch_row_done:
    br $m9

// $m2 word, $m3 table, $m4 iterations that remain, $m5 how many in all. Returns by $m9.
patch_word:
    sub $m4, $m5, $m4
    shl $m4, $m4, 2
    ld32 $m0, $m3, $m4, 0
    st32 $m0, $m2, $m15, 0
    br $m9

// $m2 destination, $m3 source, $m4 words. Returns by $m10.
copy_u32:
    brz $m4, copy_u32_done
copy_u32_next:
    ld32 $m0, $m3, $m15, 0
    st32 $m0, $m2, $m15, 0
    add $m3, $m3, 4
    add $m2, $m2, 4
    add $m4, $m4, -1
    brnz $m4, copy_u32_next
copy_u32_done:
    br $m10

// $m2 times, $m3 code that returns by $m10 and keeps $m2, $m3 and $m9. Returns by $m9.
repeat_call:
    brz $m2, repeat_call_done
repeat_call_next:
    setzi $m10, repeat_call_back
    br $m3
repeat_call_back:
    add $m2, $m2, -1
    brnz $m2, repeat_call_next
repeat_call_done:
    br $m9

// $m3 descriptor, $m4 code that returns by $m10 and uses no other register than $m8. Returns by $m9.
// The descriptor is: where input goes; words to copy there, bit 23 for packets behind the bitmap,
// packet words << 24; where the packet words stand.
host_run:
    ld32 $m0, $m3, $m15, 1
    shr $m1, $m0, 24
    shr $m5, $m0, 23
    and $m5, $m5, 1
    shl $m5, $m5, 3
    setzi $m2, host_packets
    add $m2, $m2, $m5
    ld32 $m6, $m3, $m15, 2
    brz $m1, host_run_code
host_run_packet:
    ld32 $m7, $m6, $m15, 0
    st32 $m7, $m2, $m15, 0
    add $m6, $m6, 4
    add $m2, $m2, 4
    add $m1, $m1, -1
    brnz $m1, host_run_packet
host_run_code:
    setzi $m10, host_run_back
    br $m4
host_run_back:
    ld32 $m2, $m3, $m15, 0
    ld32 $m4, $m3, $m15, 1
    shl $m4, $m4, 9
    shr $m4, $m4, 9
    setzi $m3, host_staging
    call $m10, copy_u32
    br $m9

// $m2 address that gets the low word of the cycle counter. Returns by $m10.
sample_cycle:
    setzi $m0, worker_stack_base    // worker 0's base word is the mailbox
    st32 $m2, $m0, $m15, 0
    setzi $m0, worker_sample
    runall $m0, $m15, 0
    sync 1
    br $m10

// Row of a tile that takes no part in an exchange phase.
idle_row:
    br $m10

// A host batch of a tile that takes no part in it.
idle_batch:
    sans 1
    sync 1
    br $m10

// Code of workers: $m12 is the worker's base, special 1 holds its number.

// Seeds the generator twice and draws: the number of the context is in the low three bits.
worker_init:
    get $m0, 1
    and $m0, $m0, 7
context_seed:
    setzi $m1, worker_sync_context
    add $m1, $m1, $m0
    st32 $m1, $m12, $m15, 0
    ld64 $a0:1, $m12, $m15, 0
    put 7, $a0
next_seed:
    setzi $m1, prng_seed
    add $m1, $m1, $m0
    st32 $m1, $m12, $m15, 0
    ld64 $a0:1, $m12, $m15, 0
    put 7, $a0
    setzi $m0, 15
worker_draw:
    urand64 $a0:1
    brnzdec $m0, worker_draw
    exitz $m15

worker_sample:
    get $m0, 1
    and $m0, $m0, 7
    brnz $m0, worker_exit
    ld32 $m1, $m12, $m15, 0
    get $m0, 0x60
    st32 $m0, $m1, $m15, 0
worker_exit:
    exitz $m15
