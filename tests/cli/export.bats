#!/usr/bin/env bats
# What `export` writes, by several compilers: for long, so not under sanitizers. The rest of it is in ship.bats.
load helper
load shipped

@test "the exported function of a cover chooses the same however it is compiled" {
    cover tuned.ini 2026-11-22T03:00:00Z
    # conditions that depend on every rounding, and on divisions by zero, with all that expressions can do
    sed -i -e 's/^constraint = .*/constraint = n \/ 49 * 49 == n or n * 0.1 * 3 ~= n * 0.3/' \
        -e 's/^allowed.1 = .*/allowed.1 = block_size == 64 or n \/ (n % 30 - 10) * 1.1 + 0.3 * n - n * 0.1 ~= 3\nallowed.2 = num_load == 1 ? (n % 7 > 0 and max(n, 5, 7) or 3) > 4 : min(ceil_div(n, 3), round_up(n, 2)) > log2_ceil(n) - log2_floor(n) + abs(-n) \/\/ 7 ^ 2 and not (ceil(n \/ 3) < floor(n \/ 3))\nfigure.tiles = ceil_div(n, block_size * num_load)\nfigure.large = n > 5000\nfigure.kind = mode\nfigure.width = num_load * 64\nestimate = large ? tiles * width * 1.1 + n \/ 3 * 0.1 : kind == "good" ? tiles + 0.3 * n : 1/' tuned.ini
    expect 0 export --header --tuned tuned.ini --output all.h
    cat >use.c <<'C'
#include "all.h"
#include <stdio.h>
int main(void)
{
    for (int n = 1024; n < 1048576; n += 17)
        printf("%d %d\n", n, scale_cover_1(n, 0));
    return 0;
}
C
    cc -O0 -ffp-contract=off use.c -o use -lm
    ./use >chosen
    equal "$(cut -d ' ' -f 2 chosen | sort -u | tr '\n' ' ')" "0 1 2 "
    for n in 1024 1041 2044 4424 35024 69024 300046 300063 800080 800097 800114 1021024; do # as look-ups do
        autotune explain -k scale -t tuned.ini -g Alpha --n "$n" --limit cover
        choice=$(awk -v n="$n" '$1 == n { print $2 }' chosen)
        [ "$choice" = 0 ] && exits 1 || has out "configuration $choice"
    done
    for compiler in gcc clang; do
        [ -n "$(command -v $compiler)" ] || continue
        for options in -O2 "-Ofast -march=native" "-O2 -ffinite-math-only" "-O2 -freciprocal-math" \
            "-O2 -fassociative-math -fno-signed-zeros -fno-trapping-math" "-O2 -funsafe-math-optimizations" \
            "-O2 -ffp-contract=fast -march=native" "-O0 -ffast-math" "-x c++ -Ofast -march=native"; do
            # shellcheck disable=SC2086 # several options
            $compiler $options -Wall -Wextra -Werror use.c -o use -lm
            ./use | cmp - chosen
        done
    done
    for option in -ffast-math -Ofast -ffinite-math-only; do # a compiler that drops the pragmas
        fails gcc -D__CUDACC__ $option use.c -o use -lm 2>err
        has err "must be compiled without -ffast-math"
    done
    [ "$(uname -m)" != x86_64 ] || for option in -mfpmath=387 -mfpmath=both; do # rounds elsewhere
        fails gcc -O2 $option use.c -o use -lm 2>err
        has err "must be compiled for double arithmetic"
    done
}

# print_choices COUNT SIZES...: use.c, which prints what the functions kNUMBER_cover_1() of all.h choose: NUMBER, SIZE, CHOICE
print_choices() {
    local count=$1 i n
    shift
    { echo '#include "all.h"' && echo '#include <stdio.h>' && echo 'int main(void)' && echo '{'
        for ((i = 0; i < count; i++)); do
            for n; do
                printf "%s\n" "    printf(\"$i $n %d\\n\", k${i}_cover_1($n, 0));"
            done
        done && echo '}'; } >use.c
}

# look_ups_agree FILE WHAT...: each choice in FILE is what a look-up says of the same entry, which the messages call WHAT
look_ups_agree() {
    local file=$1 i n choice
    shift
    while read -r i n choice; do
        autotune explain -k "k$i" -t tuned.ini -g Alpha --n "$n" --limit cover
        equal "${*:i+1:1}, n=$n: $choice" "${*:i+1:1}, n=$n: $(sed -n 's/.*configuration \([12]\).*/\1/p' out | head -1 | grep . || echo 0)"
    done <"$file"
}

@test "the exported function of a cover takes words and conditions as a look-up does" {
    local conditions=('mode ~= (n % 4 ~= 0)' 'mode == (n % 4 == 0)' 'mode == true' 'mode == (n % 4 == 0 ? "yes" : "no")'
        '(n % 4 == 0 and "yes" or "no") == mode' '(n % 4 == 0 ? mode : num_load > 1)' '(n % 4 == 0 ? mode : "no")'
        '(n % 4 == 0 and "one" or "two") == (num_load == 1 and "one" or "two")' '(n % 4 == 0 ? "b" : "c") < (num_load == 1 ? "c" : "a")'
        'n % 4 == 0 and (n > 4000 and "slow" or mode) == "yes"' '(n % 4 == 0 and num_load or mode) == 1' 'mode == "good"'
        '(n % 4 == 0 and 1 or mode) + 1 == 2' 'not (mode == (n > 4000))' '((n / (n % 4) > 1) == 5) == false' '(n > 50000) ~= 1 and mode'
        'not (mode and n % 4 == 0)' 'n ~= mode and n ~= (n > 4000)' 'num_load == 1 or blocks_per_sm > 1' 'min(n) > 4000 or mode'
        'min(mode) == mode' '-shift < n % 4 and -(-shift) ~= n % 4' 'mode < "yes" or n < 4000' 'mode + 1 == 2 or true')
    cover one.ini 2026-11-22T03:00:00Z
    for i in "${!conditions[@]}"; do
        sed -e "s/^\[scale 0000c0e4\]/[k$i 0000c0e4]/; s/^kernel = scale/kernel = k$i/; s/^problem.factor = .*/&\nproblem.shift = -1/" \
            -e "s/^configuration.1.mode = good/configuration.1.mode = yes/; s/^configuration.2.mode = good/configuration.2.mode = no/" \
            -e "/^constraint/d; s|^allowed.1 = mode == \"good\" and.*|allowed.1 = ${conditions[i]}|" one.ini >>tuned.ini
    done
    expect 0 export --header --tuned tuned.ini --output all.h
    print_choices ${#conditions[@]} 2001 2004 9001 9004
    for language in c c++; do
        cc -x $language -Wall -Wextra -Werror use.c -o use -lm
        ./use >chosen.$language
    done
    cmp chosen.c chosen.c++
    look_ups_agree chosen.c "${conditions[@]}"
}

@test "the exported function of a cover chooses nothing where a figure fails, needed or not, as a look-up does" {
    local lines=('figure.word = 10 \/ (n - 5000) > 1 ? "a" : "b"\nestimate = n > 4000 ? n : (word == "a" ? 1 : 2)'
        'figure.unused = registers\nestimate = n' 'estimate = n ~= (-2) ^ 0.5 ? n : 1' 'figure.word = n > 5001 ? 1 \/ (n - 5002) : mode\nestimate = n')
    cover one.ini 2026-11-22T03:00:00Z
    for i in "${!lines[@]}"; do
        sed "s/scale/k$i/; /^constraint/d; s/^allowed.1 = .*/${lines[i]}/" one.ini >>tuned.ini
    done
    expect 0 export --header --tuned tuned.ini --output all.h
    print_choices ${#lines[@]} 4999 5000 5001 5002
    cc -Wall -Wextra -Werror use.c -o use -lm
    ./use >choices
    look_ups_agree choices "${lines[@]}"
    equal "$(grep -c ' 0$' choices)" 6
}

# compiles INCLUDE...: with `text` behind the includes; what the compiler says is in err
compiles() {
    {
        printf '#include "%s"\n' "$@"
        echo "$text"
    } >use.c
    cc -Wall -Wextra -Werror -c use.c -o use.o 2>err
}

@test "two exported headers do not clash in silence" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    autotune export --header -t tuned.ini --output all.h
    expect 0 export --header -t tuned.ini -k scale --gpu Alpha --n 1024 --output one.h
    sed 's/scale/other/; s/block_size = 64/block_size = 128/; s/mode = good/mode = wrong/' tuned.ini >other.ini
    autotune export --header -t other.ini --output all_other.h
    expect 0 export --header -t other.ini -k other --gpu Alpha --n 1024 --output other.h
    sed 's/block_size = 64/block_size = 128/' tuned.ini >changed.ini
    autotune export --header -t changed.ini --output all_changed.h
    expect 0 export --header -t changed.ini -k scale --gpu Alpha --n 1024 --output changed.h

    text='int size[BLOCK_SIZE == 64 && SCALE_BLOCK_SIZE == 64 ? 1 : -1];'
    compiles one.h one.h all.h all.h
    fails compiles one.h other.h
    has err "#error BLOCK_SIZE has another value" "#error MODE has another value"
    fails compiles one.h changed.h
    has err "#error SCALE_BLOCK_SIZE has another value"
    fails compiles all.h all_changed.h
    has err "#error SCALE_CONFIGURATIONS are others"

    text='int size[SCALE_BLOCK_SIZE == 64 && OTHER_BLOCK_SIZE == 128 ? 1 : -1];
int count[SCALE_CONFIGURATION_COUNT + OTHER_CONFIGURATION_COUNT];'
    echo '#define AUTOTUNE_PREFIXED_ONLY' >only.h
    compiles only.h one.h other.h all.h all_other.h
    echo '#define BLOCK_SIZE 32' >own.h # the application's own choice
    text='int size[BLOCK_SIZE == 32 ? 1 : -1];'
    compiles own.h one.h
}
