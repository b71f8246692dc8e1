#!/usr/bin/env bats
# What ships: explain, export, emit, bundle and merge, and that every command is documented.
shared_cubins=yes
find_leaks=1
load helper
load shipped

@test "explain says which entry, and by which rule" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    tuned tuned.ini 00000002 Alpha 80 1048576 9000
    expect 0 explain --kernel scale --tuned tuned.ini --gpu Alpha --n 2^20 --factor=1.5
    has out "[scale 00000002] of Alpha, n=1048576 factor=1.5 (same GPU, same size)" "took 9.00 us"
    expect 0 explain -k scale -t tuned.ini -g Alpha --n 2000
    has out "[scale 00000001]" "same GPU, nearest size"
    expect 0 explain -k scale -t tuned.ini -g Beta --arch sm_80 --n 1024
    has out "same compute capability, nearest GPU"
    expect 0 explain -k scale -t tuned.ini --arch sm_86 --n 1024
    has out "same compute-capability family"
}

@test "explain proposes the GPU that a name is short for, and does not answer for another one in silence" {
    tuned tuned.ini 00000001 "NVIDIA Alpha" 80 1024 1000
    for gpu in Alpha "nvidia alpha" "NVIDIA Alhpa"; do
        expect 2 explain -k scale -t tuned.ini -g "$gpu" --n 1024
        has err "unknown GPU '$gpu'; did you mean --gpu \"NVIDIA Alpha\"?"
        lacks err "--arch"
        expect 0 explain -k scale -t tuned.ini -g "$gpu" --arch sm_80 --n 1024
        has err "unknown GPU '$gpu'; did you mean --gpu \"NVIDIA Alpha\"?"
    done
    expect 2 explain -k scale -t tuned.ini -g h200 --n 1024 # which the tuned INI does not have
    has err "did you mean --gpu \"NVIDIA H200\"?"
    expect 2 explain -k scale -t tuned.ini -g Unlike --n 1024
    has err "unknown GPU 'Unlike'; if it is a card that was not tuned, add its architecture"
    tuned tuned.ini 00000002 "NVIDIA Alpha" 80 1024 1000
    expect 0 explain -k scale -t tuned.ini -g "NVIDIA Alpha" --n 1024
    lacks err "NVIDIA Alpha"
    sed -i '/00000002/,$s/^sm_count = .*/sm_count = 50/' tuned.ini
    expect 0 explain -k scale -t tuned.ini -g "NVIDIA Alpha" --n 1024
    has err "cards named 'NVIDIA Alpha' have 100 or 50 SMs; this is for 100"
}

@test "explain says what it takes for values that are not given" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    tuned tuned.ini 00000002 Alpha 80 16384 1000
    expect 0 explain -k scale -t tuned.ini -g Alpha
    has out "[scale 00000001]" "not given, so as in the first section that fits: n=1024 factor=1.5"
    autotune explain -k scale -t tuned.ini -g Alpha --n 16384
    has out "[scale 00000002]" "not given, so as in the first section that fits: factor=1.5"
    cp -r "$sweeps/templates" templates
    sed -i 's/^template_hash = .*/template_hash = 0/' tuned.ini
    autotune explain -k scale -t tuned.ini -g Alpha --n 1024 --factor 1.5
    lacks out "not given"
    hash=$("$AUTOTUNE" explain -k scale -t tuned.ini -g Alpha --template templates/scale.ini | sed -n 's/^template scale: version //p')
    sed -i "s/^template_hash = .*/template_hash = $hash/" tuned.ini
    expect 0 explain -k scale -t tuned.ini -g Alpha --template templates/scale.ini
    has out "[scale 00000002]" "not given, so the template's defaults: n=16384 factor=1.5"
}

@test "explain without an answer says why, with status 1" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    expect 1 explain -k scale -t tuned.ini --arch sm_90 --n 1024
    has err "1 is for GPUs beyond the limit"
    expect 1 explain -k scale -t tuned.ini -g Alpha --n 1 --limit exact
    expect 2 explain -k nothing -t tuned.ini -g Alpha
    has err "unknown kernel 'nothing'; expected one of: scale"
}

@test "explain knows the template's version and defaults" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    expect 0 explain -k scale -t tuned.ini -g Alpha --n 1024 --template "$sweeps/templates/scale.ini"
    has out "template scale: version " "defaults of the template" "1 is of another version of the template"
    grep -Eq '^ +block_size +256$' out
}

@test "explain says what a cover chooses, by which size, and what that may lose" {
    cover tuned.ini 2026-11-22T03:00:00Z
    expect 0 explain -k scale -t tuned.ini -g Alpha --n 600000
    has out "configuration 2 of its cover, factor=1.5 (same GPU, in the range of a cover, by the nearest measured sizes" \
        "  block_size           256" \
        "nearest measured size: n=1048576, where configuration 2 took 9.00 us; the fastest, 2, 9.00 us" \
        "range: n = 1024 .. 1048576, n % 2 == 0" \
        "expected loss in the range: mean 0.5 %, worst 2.25 %, from 7 sizes held out"
    expect 0 explain -k scale -t tuned.ini -g Alpha --n 600004 # where configuration 2 is not allowed
    has out "configuration 1 of its cover" "nearest measured size: n=1048576, where configuration 1 took 12.00 us; the fastest, 2, 9.00 us"
    expect 0 explain -k scale -t tuned.ini -g Alpha --n 2^21
    has out "outside the range of a cover, by the nearest measured sizes, size distance 1.00" "  block_size           256"
    sed 's/^measured.3 = .*/measured.3 = n=1048576: failed 9 us/' tuned.ini >failed.ini
    expect 0 explain -k scale -t failed.ini -g Alpha --n 600004
    has out "where configuration 1 failed; the fastest, 2, 9.00 us"
    expect 1 explain -k scale -t tuned.ini -g Alpha --n 2^21 --limit cover
    expect 0 explain -k scale -t tuned.ini -g Beta --arch sm_86 --n 4096
    has out "same compute-capability family, nearest GPU, by the nearest measured sizes" "GPU distance"
    sed -i 's/^constraint = .*/constraint = wave >= 1/' tuned.ini # a slip of the editor
    expect 2 explain -k scale -t tuned.ini -g Alpha --n 4096
    has err "tuned.ini:20: 'wave >= 1' of key 'constraint': unknown name 'wave'"
}

@test "options that are none" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    expect 2 explain -k scale -t tuned.ini -g Alpha --facto 3
    has err "'--facto'" "--factor"
    expect 2 explain -k scale -t tuned.ini -g Alpha --n
    expect 2 explain -k scale -t tuned.ini -g Alpha --n "3 4"
    expect 2 explain -k scale -t tuned.ini -g Alpha --limit far
    expect 2 explain -k scale -t tuned.ini -g Alpha stray
    expect 2 explain -t tuned.ini -g Alpha
    expect 2 explain -k scale -t tuned.ini -g Unknown
    has err "--arch"
    expect 2 explain -k scale -t nowhere.ini -g Alpha
    has err "nowhere.ini"
}

# changed FILE KEY VALUE: sets the key in every entry of it, those that lack it, too
changed() {
    grep -q "^$2 = " "$1" || sed -i "s/^cache = .*/&\n$2 = /" "$1"
    sed -i "s/^$2 = .*/$2 = $3/" "$1"
}

# merged FILE EXPECTED: a.ini and b.ini, in either order, make c.ini with FILE's parameters, for the reason EXPECTED
merged() {
    expect 0 merge a.ini b.ini --output c.ini
    has out "$1 (" ": $2"
    equal "$(grep '^parameter' c.ini)" "$(grep '^parameter' "$1")"
    equal "$(grep '^median_ns' c.ini)" "$(grep '^median_ns' "$1")"
    expect 0 merge b.ini a.ini --output d.ini
    has out "$1 (" ": $2"
    cmp c.ini d.ini
}

# An old entry, a.ini, and a new one for the same, b.ini, of another configuration.
two_entries() {
    tuned a.ini 00000001 Alpha 80 1024 "$1" 2026-01-01T00:00:00Z
    tuned b.ini 00000001 Alpha 80 1024 "$2" 2026-02-01T00:00:00Z
    changed b.ini parameter.block_size 128
}

@test "merge keeps what is faster by more than noise, says which, and is idempotent" {
    tuned a.ini 00000001 Alpha 80 1024 1000
    tuned a.ini 00000002 Alpha 80 2048 5000
    changed a.ini parameter.block_size 128
    tuned b.ini 00000001 Alpha 80 1024 2000
    tuned b.ini 00000002 Alpha 80 2048 4000
    tuned b.ini 00000003 Beta 86 1024 7000
    expect 0 merge a.ini b.ini --output c.ini
    has out "n=1024 factor=1.5 on Alpha: a.ini (1.00 us) over b.ini (2.00 us): faster" \
        "n=2048 factor=1.5 on Alpha: b.ini (4.00 us) over a.ini (5.00 us): faster"
    equal "$(grep -c '^\[' c.ini)" 3
    equal "$(grep '^median_ns' c.ini | tr '\n' ' ')" "median_ns = 1000 median_ns = 4000 median_ns = 7000 "
    cp c.ini once.ini
    expect 0 merge c.ini a.ini b.ini -o c.ini
    cmp once.ini c.ini
    expect 0 merge b.ini a.ini -o d.ini # whatever the order
    equal "$(grep -e '^\[' -e '^median' d.ini | sort)" "$(grep -e '^\[' -e '^median' c.ini | sort)"
}

# By the luckier of two times nothing is decided, nor by a difference within 0.5 %, however narrow the intervals are;
# versions of CUDA headers have no order.
@test "merge: of two entries, the first rule that tells them apart decides" {
    other=fedcba9876543210fedcba9876543210
    while IFS='|' read -r first second changes winner reason; do
        rm -f a.ini b.ini
        two_entries "$first" "$second"
        while read -r -d ';' file key value; do
            changed "$file" "$key" "$value"
        done <<<"$changes${changes:+;}"
        merged "$winner" "$reason"
    done <<END
1000|1010|a.ini high_ns 1030;b.ini low_ns 990|b.ini|measured later, and no slower than noise explains
1000|1004||b.ini|measured later, and no slower than noise explains
1000|2000|b.ini parameter.block_size 64|b.ini|measured later, with the same configuration
1000|2000|a.ini driver 9.2;a.ini date 2026-03-01T00:00:00Z|b.ini|for the newer driver
1000|2000|b.ini nvrtc 13.1;a.ini date 2026-03-01T00:00:00Z|b.ini|for the newer NVRTC
1000|2000|a.ini nvrtc 13.1+fedcba98;b.ini nvrtc 13.1+01234567|b.ini|measured later, with other CUDA headers
2000|1000|b.ini incomplete yes|a.ini|the other one is incomplete
2000|1000|b.ini incomplete yes;b.ini template_hash $other|b.ini|measured later, with another version of the template
1000|2000|b.ini template_hash $other|b.ini|measured later, with another version of the template
1000|2000|b.ini median_ns 0|a.ini|the other one's time is not known
1000|2000|b.ini median_ns 0;b.ini driver 99.0;b.ini template_hash $other|a.ini|the other one's time is not known
1000|2000|a.ini median_ns 0;b.ini median_ns 0;b.ini template_hash $other|b.ini|measured later, with another version of the template
1000|2000|a.ini runs 32|b.ini|measured later, and only one of them was measured in batches
END
}

@test "a time that is not known is not compared" {
    two_entries 1000 2000
    changed b.ini median_ns 0
    expect 2 compare a.ini b.ini
    has err "b.ini: section 'scale 00000001' is not compared: its time is not known" "'b.ini' has no winner with a time"
}

@test "merge takes no entry whose date or times cannot be" {
    for line in "date = zzz" "date = 9999-99-99T99:99:99Z" "date = 2026-02-29T00:00:00Z" "low_ns = 900" "high_ns = 700" \
        "median_ns = 0.000001" "median_ns = 801"; do
        rm -f a.ini b.ini c.ini
        two_entries 1000 800
        changed b.ini "${line%% *}" "${line#* = }"
        expect 2 merge a.ini b.ini --output c.ini
        has err "b.ini:" "${line%% *}"
        [ ! -e c.ini ]
        tuned b.ini 00000002 Alpha 80 2048 5000
        expect 0 merge a.ini b.ini --output c.ini
        has err "b.ini:" "section 'scale 00000001' is skipped" "${line%% *}"
        equal "$(grep -c '^median_ns = 1000' c.ini)" 1
        expect 2 compare a.ini b.ini
        has err "section 'scale 00000001' is skipped" "in common"
        expect 0 explain --tuned b.ini --kernel scale --gpu Alpha --n 2048 --factor 1.5
        has err "a section is skipped" "${line%% *}"
    done
}

@test "merge keeps cold and warm apart" {
    two_entries 1000 900
    changed b.ini cache warm
    expect 0 merge a.ini b.ini --output c.ini
    equal "$(grep '^cache' c.ini | tr '\n' ' ')" "cache = cold cache = warm "
    equal "$(grep -c '^\[' c.ini)" 2
    equal "$(grep '^\[' c.ini | sort -u | wc -l)" 2
    expect 0 explain -k scale -t c.ini -g Alpha --n 1024
}

@test "merge: what an entry is about counts, not its section's name" {
    two_entries 1000 900
    sed -i 's/^\[.*/[scale 12345678]/' b.ini
    expect 0 merge a.ini b.ini --output c.ini
    equal "$(grep '^\[' c.ini)" "[scale 00000001]"
    has c.ini "median_ns = 900"
    tuned other.ini 00000001 Beta 80 1024 1000 # the same name for something else
    expect 0 merge a.ini other.ini -o d.ini
    equal "$(grep '^gpu' d.ini | tr '\n' ' ')" "gpu = Alpha gpu = Beta "
    expect 0 explain -k scale -t d.ini -g Beta --n 1024
}

@test "merge keeps the later cover, beside what was tuned for one problem" {
    cover a.ini 2026-11-22T03:00:00Z
    tuned a.ini 00000001 Alpha 80 1024 1000
    cover b.ini 2026-11-22T04:00:00Z
    changed b.ini worst_loss_percent 3.5
    expect 0 merge b.ini a.ini --output c.ini
    has out "scale factor=1.5 on Alpha: b.ini over a.ini: the cover was made later"
    equal "$(grep -c '^\[' c.ini)" 2
    has c.ini "worst_loss_percent = 3.5" "measured.3 = n=1048576: 12 9 us"
    expect 0 compare a.ini c.ini
    has err "a.ini: 1 cover is not compared" "c.ini: 1 cover is not compared"
    cover only.ini 2026-11-22T03:00:00Z
    expect 2 compare a.ini only.ini
    has err "'only.ini' has nothing but covers"
}

@test "merge into a file that another process is changing loses none of its entries, even through a link" {
    mkdir shared
    ln -s shared/tuned.ini link.ini
    tuned mine.ini 00000002 Alpha 80 2048 1000
    for output in shared/tuned.ini link.ini; do
        rm -f shared/tuned.ini
        tuned shared/tuned.ini 00000001 Alpha 80 1024 1000
        exec 9<shared
        flock -x 9 # as a run does that has read the file, and is about to replace it
        "$AUTOTUNE" merge "$output" mine.ini --output "$output" >out 2>err 9>&- &
        run=$!
        sleep 0.2
        tuned theirs.ini 00000001 Alpha 80 1024 1000
        tuned theirs.ini 00000003 Alpha 80 4096 1000
        mv theirs.ini shared/tuned.ini
        flock -u 9
        exec 9<&-
        wait "$run"
        equal "$(grep '^problem.n' shared/tuned.ini | sort | tr '\n' ' ')" \
            "problem.n = 1024 problem.n = 2048 problem.n = 4096 "
    done
}

@test "merge refuses what it cannot read, and writes nothing" {
    tuned a.ini 00000001 Alpha 80 1024 1000
    expect 2 merge a.ini nowhere.ini -o c.ini
    expect 2 merge a.ini
    expect 2 merge -o c.ini
    [ ! -e c.ini ]
}

@test "the exported headers compile, as C and as C++" {
    tuned tuned.ini 00000001 "Alpha \"*/??/" 80 1024 1000
    tuned tuned.ini 00000002 Beta 86 2048 9000
    cover tuned.ini 2026-11-22T03:00:00Z
    sed -i '/^constraint/d; /^allowed/d' tuned.ini # nothing in the cover's function can fail
    expect 0 export --header --tuned tuned.ini --output all.h
    expect 0 export --header --tuned tuned.ini --kernel scale --arch sm_86 --n 4096 --output one.h
    cat >use.c <<'C'
#include "all.h"
#include "one.h"
enum { MODE_GOOD = 5 };
struct row { int index; const char *gpu; int capability; long n; double factor; int block_size; int mode; };
#define ROW(index, gpu, capability, sms, l2, ns, n, factor, block_size, num_load, mode) {index, gpu, capability, n, factor, block_size, mode},
static const struct row rows[] = {SCALE_CONFIGURATIONS(ROW)};
int main(void)
{
    return !(sizeof rows / sizeof *rows == SCALE_CONFIGURATION_COUNT && rows[1].n == 2048 && rows[1].mode == MODE_GOOD &&
             rows[0].gpu[6] == '"' && BLOCK_SIZE == 64 && MODE == 5 && sizeof SCALE_TEMPLATE_HASH == 33);
}
C
    cc -Wall -Wextra -Werror use.c -o use
    ./use
    c++ -x c++ -Wall -Wextra -Werror use.c -o use
    ./use
    expect 0 export --definitions --tuned tuned.ini --kernel scale --arch sm_86
    has out -DBLOCK_SIZE=64 -DMODE=MODE_GOOD
}

@test "the exported function of a cover chooses as a look-up does" {
    cover tuned.ini 2026-11-22T03:00:00Z
    expect 0 export --header --tuned tuned.ini --output all.h
    cat >use.c <<'C'
#include "all.h"
#include "all.h"
#include <stdio.h>
enum { MODE_GOOD = 5 };
#define BLOCK(number, block_size, num_load, mode) number == chosen ? block_size :
int main(void)
{
    static const double sizes[] = {1023, 1024, 4096, 102400, 110000, 262142, 262146, 600000, 600004, 1048576, 1048577};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int chosen = scale_cover_1(sizes[i], 0);
        printf("%.0f %d\n", sizes[i], SCALE_COVER_1_CONFIGURATIONS(BLOCK) 0);
    }
    return SCALE_CONFIGURATION_COUNT;
}
C
    cc -Wall -Wextra -Werror use.c -o use -lm
    ./use >chosen
    while read -r n block; do
        autotune explain -k scale -t tuned.ini -g Alpha --n "$n" --limit cover
        equal "$(sed -n 's/^  block_size *//p' out)" "${block/#0/}"
    done <chosen
    equal "$(cut -d ' ' -f 2 chosen | sort -u | tr '\n' ' ')" "0 256 64 "
    c++ -x c++ -Wall -Wextra -Werror use.c -o use
    ./use | cmp - chosen
}

@test "a section whose name is given twice is skipped by look-ups and by export, and no cover is left out in silence" {
    cover tuned.ini 2026-11-22T03:00:00Z
    cp tuned.ini twice.ini
    sed -e 's/^gpu = .*/gpu = Beta/' tuned.ini >>twice.ini
    expect 1 explain -k scale -t twice.ini -g Beta --arch sm_90 --n 4096 --limit cover
    has err "is given twice"
    expect 0 export --header --tuned twice.ini
    has err "is given twice"
    lacks out "scale_cover_2"
    sed '/^driver = /d' tuned.ini >old.ini # which look-ups do not need
    expect 0 explain -k scale -t old.ini -g Alpha --n 4096 --limit cover
    expect 2 export --header --tuned old.ini
    has err "has no key 'driver'"
}

@test "export refuses rows of different versions, and questions that are none" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    tuned tuned.ini 00000002 Beta 86 2048 9000 2026-01-01T00:00:00Z fedcba9876543210fedcba9876543210
    expect 2 export --header -t tuned.ini
    has err "different versions"
    tuned one.ini 00000001 Alpha 80 1024 1000
    cover one.ini 2026-11-22T03:00:00Z fedcba9876543210fedcba9876543210
    expect 2 export --header -t one.ini
    has err "[scale 00000001] and [scale 0000c0e4] come from different versions"
    expect 2 export -t tuned.ini
    expect 2 export --header -t tuned.ini --n 3
    expect 2 export --header -t tuned.ini -k nothing
}

@test "export --header refuses what was tuned with another version of the template that is named" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    expect 0 export --header --template "$sweeps/templates/scale.ini"
    changed results/tuned.ini template_hash 0123456789abcdef0123456789abcdef
    expect 2 export --header --template "$sweeps/templates/scale.ini"
    has err "was tuned with another version of '$sweeps/templates/scale.ini'"
}

@test "an exported header has the cold configuration or the warm one, as asked, and marks what is incomplete" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    tuned tuned.ini 00000002 Alpha 80 1024 2000
    # of one GPU, as look-ups see it, whatever its bandwidth was reported to be
    sed -i '/00000002/,$s/^cache = .*/cache = warm\nincomplete = yes\nmemory_gb_per_s = 1000.5/' tuned.ini
    tuned tuned.ini 00000003 Alpha 80 4096 3000
    cover tuned.ini 2026-11-22T03:00:00Z
    cover warm.ini 2026-11-22T03:00:00Z
    sed 's/^cache = .*/cache = warm/; s/0000c0e4/0000c0e5/; s/configuration.1.block_size = .*/configuration.1.block_size = 96/' warm.ini >>tuned.ini
    expect 0 export --header -t tuned.ini
    has out "SCALE_CONFIGURATION_COUNT 2" ", 1000, 1024, " ", 3000, 4096, " "X(1, 64, 1, MODE_GOOD)"
    lacks out ", 2000, 1024, " "X(1, 96, " scale_cover_2 incomplete
    expect 0 export --header -t tuned.ini --cache warm
    has out "SCALE_CONFIGURATION_COUNT 2" "MODE_GOOD) /* incomplete */" ", 3000, 4096, " "X(1, 96, 1, MODE_GOOD)"
    lacks out ", 1000, 1024, " "X(1, 64, " scale_cover_2
    for line in 'range.n = 1024 .. 2097152' 'constraint = n % 3 == 0'; do # sizes that look-ups take it for
        sed "/0000c0e5/,\$s/^${line%% *} = .*/$line/" tuned.ini >other.ini
        expect 0 export --header -t other.ini
        has out "X(1, 64, 1, MODE_GOOD)" "X(1, 96, 1, MODE_GOOD)" scale_cover_2
        expect 0 export --header -t other.ini --cache warm
        equal "$(grep -o 'X(1, [0-9]*, 1, ' out | head -n 1)" "X(1, 96, 1, " # the first is the one that look-ups prefer
    done
    expect 2 export --header -t tuned.ini --cache tepid
    has err "unknown cache state 'tepid'"
    tuned near.ini 00000001 Alpha 80 9007199254740992 1000 # 2^53: as doubles, both are the same
    tuned near.ini 00000002 Alpha 80 9007199254740993 2000
    sed -i '/00000002/,$s/^cache = .*/cache = warm/' near.ini
    expect 0 export --header -t near.ini
    has out "SCALE_CONFIGURATION_COUNT 2" "9007199254740992, " "9007199254740993, "
}

@test "emit writes source, PTX and cubin of a variant" {
    expect 0 emit --kernel scale --templates "$sweeps/templates" --set block_size=128 --mode wrong
    has out "#define BLOCK_SIZE 128" "#define MODE MODE_WRONG" "scale_good"
    expect 2 emit --kernel scale --templates "$sweeps/templates" --set blok_size=128
    has err "'blok_size'" "'block_size'"
    expect 2 emit --kernel scale --templates "$sweeps/templates" --set mode=none
    expect 2 emit --kernel scale --templates "$sweeps/templates" --ptx --cubin
    expect 0 emit --kernel scale --templates "$sweeps/templates" --ptx --arch sm_80
    has out ".target sm_80" scale_good
    expect 0 emit --kernel scale --templates "$sweeps/templates" --cubin --output scale.cubin
    equal "$(head -c 4 scale.cubin | tail -c 3)" ELF
    expect 2 emit --kernel scale --templates "$sweeps/templates" --mode broken --cubin --output broken.cubin
    has err "Compilation terminated."
    grep -q '^autotune: ' err # on a line of its own
}

@test "a bundle has what an application needs" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    expect 0 bundle --templates "$sweeps/templates" --output bundle
    hash=$(sed -n 's/^\[scale \(.*\)\]$/\1/p' bundle/tuned.ini)
    equal "$(head -c 4 "bundle/cubin/scale-$hash.cubin" | tail -c 3)" ELF
    cmp bundle/templates/scale.ini "$sweeps/templates/scale.ini"
    cmp bundle/templates/scale.cu "$sweeps/templates/scale.cu"
    expect 0 explain -k scale -t bundle --arch sm_75 --n 5 # the defaults are in it
    has out "defaults of the template"
    expect 0 explain -k scale -t bundle
    has out "not given, so the template's defaults: n=16384 factor=1.5"
}

@test "a bundle beside a cover answers as the tuned INI does, whatever the limit and the cache state, and has all cubins" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    hash=$(sed -n 's/^template_hash = //p' results/tuned.ini) gpu=$(sed -n 's/^gpu = //p' results/tuned.ini)
    sed -i 's/^parameter.block_size = .*/parameter.block_size = 64/;s/^parameter.num_load = .*/parameter.num_load = 1/' \
        results/tuned.ini # what the cover chooses there
    sed -n '/^\[/,$p' results/tuned.ini >entry
    sed 's/^\[.*/[scale 00000a55]/;s/^cache = .*/cache = warm/;s/^parameter.num_load = .*/parameter.num_load = 4/' entry >>results/tuned.ini
    cover results/tuned.ini 2026-11-22T03:00:00Z "$hash" "$gpu" 90
    changed results/tuned.ini problem.factor "$(sed -n 's/^problem.factor = //p' results/tuned.ini | head -n 1)"
    changed results/tuned.ini sm_count 132
    printf '#include "scale.cu"\n' >own.cu
    expect 0 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scale
    set -- bundle/cubin/*-0000c0e4-[12].cubin
    equal "$#" 2
    set -- bundle/cubin/*.cubin
    equal "$#" 8
    fails cmp bundle/cubin/scale-0000c0e4-1.cubin bundle/cubin/scale-0000c0e4-2.cubin
    n=$(sed -n 's/^problem.n = //p' entry)
    for problem in "$n" 600000; do
        for limit in exact cover size; do
            for cache in cold warm; do
                autotune explain -k scale -t results/tuned.ini --template "$sweeps/templates/scale.ini" -g "$gpu" \
                    --n "$problem" --limit $limit --cache $cache
                mv out expected
                autotune explain -k scale -t bundle -g "$gpu" --n "$problem" --limit $limit --cache $cache
                diff expected out
            done
        done
    done
    has out "configuration 2 of its cover"
    expect 0 --config "$sweeps/scale.ini" --quiet --remeasure
    equal "$(grep -c '^cover = ' results/tuned.ini)" 1
}

@test "a bundle is refused where look-ups read a section that the tuner skips" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    sed -n '/^\[/,$p' results/tuned.ini >entry
    sed -e '/^driver = /d; s/^\[.*/[scale 00000001]/; s/^problem.n = .*/problem.n = 4096/' entry >>results/tuned.ini
    expect 0 explain -k scale -t results/tuned.ini --n 4096 --factor 1.5 --limit exact
    expect 2 bundle --templates "$sweeps/templates" --output bundle
    has err "section 'scale 00000001' has no key 'driver'"
    [ ! -e bundle ]
    sed -i '/^\[scale 00000001\]/,$ { /^gpu = /d }' results/tuned.ini # which look-ups skip, too
    expect 0 bundle --templates "$sweeps/templates" --output bundle
}

@test "a bundle has the headers, however they are included" {
    sweep "[scale]"
    mkdir templates/include
    sed -i '1i #define H "gain.h"\n#include H\n#include <next.h>\n%:include "digraph.h"' templates/scale.cu
    sed -i '/^\[kernel\]/a include = include\ndepends = gain.h' templates/scale.ini
    echo '#include_next <next.h>' >templates/next.h
    touch templates/gain.h templates/digraph.h templates/include/next.h
    expect 0 --config sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    for header in gain.h next.h digraph.h include/next.h; do
        cmp templates/$header bundle/templates/$header
    done
}

# headers: the template `scale` includes "gain.h", which it finds in its include folder
headers() {
    sweep "[scale]"
    mkdir templates/include
    sed -i '1i #include "gain.h"' templates/scale.cu
    sed -i '/^\[kernel\]/a include = include' templates/scale.ini
    echo '#define GAIN 2' >templates/include/gain.h
}

@test "a bundle in the place of an older one has no header that the template finds instead of its own" {
    headers
    echo '#define GAIN 1' >templates/gain.h
    expect 0 --config sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    touch bundle/templates/mine
    rm templates/gain.h
    expect 0 --config sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    [ ! -e bundle/templates/gain.h ]
    [ -e bundle/templates/mine ]
    expect 0 explain -k scale -t bundle --template bundle/templates/scale.ini
    has out "same GPU, same size"
    sed -i '1i #include "next.h"' templates/scale.cu
    touch templates/include/next.h
    expect 0 --config sweep.ini --quiet
    echo '#define NEXT' >bundle/templates/next.h # of a template that this bundle has not
    expect 2 bundle --templates templates --output bundle
    has err "bundle/templates/scale.ini: the copied template differs from the tuned one" "write this one to another folder"
    [ ! -e bundle/tuned.ini ] # so that nothing takes it for a bundle
}

@test "a bundle has the template's include folder, though it uses no header of it" {
    headers
    sed -i 1d templates/scale.cu
    expect 0 --config sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    [ -d bundle/templates/include ]
    equal "$(echo bundle*)" bundle
    expect 0 explain -k scale -t bundle --arch sm_75
    has out "defaults of the template"
}

@test "a bundle's files stay in its folder, and are those that an application looks for, whatever sections are called" {
    printf '[scale]\nn = 2^10\nblock_size = 64\n' | sweep
    expect 0 --config sweep.ini
    for name in 'scale /../../../out' 'scale 1 2' 'SCALE 12345678' other; do
        sed "s|^\\[scale .*|[$name]|" results/tuned.ini >named.ini
        expect 2 bundle --tuned named.ini --templates templates --output bundle
        has err "section '$name'" "[scale 00000001]"
        [ ! -e bundle ]
        [ ! -e out.cubin ]
    done
}

@test "two templates in a bundle may share a source" {
    cp -r "$sweeps/templates" .
    sed 's/^\[kernel\]/&\nsource = scale.cu/' templates/scale.ini >templates/again.ini
    printf '[scale]\n[again]\n' >templates/sweep.ini
    expect 0 --config templates/sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    has out "2 configurations, 2 templates"
    cmp bundle/templates/scale.cu templates/scale.cu
    # but a kernel has one, which is the application's
    changed results/tuned.ini kernel scale
    sed -i 's/^\[again/[scale/' results/tuned.ini
    expect 2 bundle --templates templates --output other
    has err "come from different templates, 'scale' and 'again'" "'template = again'"
    [ ! -e other ]
    cp results/tuned.ini bundle # as older ones are
    expect 0 explain -k scale -t bundle
    has out "version $(sed -n 's/^template_hash = //p' results/tuned.ini | head -n 1)"
}

@test "a bundle has the file that a scratch buffer begins with, which is a part of the template's version" {
    sweep "[scale]"
    npy templates/one.npy '<f4' False 1 0
    printf '\0\0\200?' >>templates/one.npy
    printf '\n[buffer.table]\ntype = float\nlength = 1\naccess = scratch\nfill = file(one.npy)\n' >>templates/scale.ini
    expect 0 --config sweep.ini --quiet
    expect 0 bundle --templates templates --output bundle
    cmp templates/one.npy bundle/templates/one.npy
    sed -i 's/$/ /' bundle/templates/one.npy
    expect 0 explain -k scale -t bundle
    has out "defaults of the template" "another version of the template"
    mv bundle/templates/one.npy templates
    expect 2 bundle --templates templates --output bundle
    has err "another version of the template"
}

@test "a bundle can have the application's own sources, compiled with a kernel's parameters" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    printf '#ifndef BLOCK_SIZE\n#error not tuned\n#endif\n#include "scale.cu"\n' >own.cu
    expect 0 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scale
    hash=$(sed -n 's/^\[scale \(.*\)\]$/\1/p' bundle/tuned.ini)
    set -- bundle/cubin/*.cubin
    equal "$#" 2
    for file; do
        equal "$(wc -c <"$file.hash")" 32
    done
    for file; do
        equal "$(head -c 4 "$file" | tail -c 3)" ELF
    done
    [[ $1 =~ ^bundle/cubin/scale-$hash-[0-9a-f]{32}\.cubin$ ]]
    expect 2 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scal
    has err "unknown kernel 'scal'; did you mean 'scale'?"
    expect 2 bundle --templates "$sweeps/templates" --output bundle --source own.cu
    has err "FILE=KERNEL"
    expect 2 bundle --templates "$sweeps/templates" --output bundle --source nowhere.cu=scale
    has err "nowhere.cu"
    printf '#define PATH <v/BLOCK_SIZE.h>\n#include PATH\n' >own.cu
    expect 2 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scale
    has err "own.cu:2" "cannot tell which file"
    echo "not C" >own.cu
    expect 2 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scale
    has err "own.cu" "compilation failed"
}

@test "a bundle has the application's own source for a real parameter, however it is written" {
    cp -r "$sweeps/templates" .
    sed -i 's/^num_load = 1/&\nlimit = 1.5/' templates/scale.ini
    printf '#include "scale.cu"\n' >own.cu
    for real in 1e3 1000.0; do
        tuned $real.ini 00000001 Alpha 80 1024 1000
        sed -i "s/^parameter.mode = .*/&\nparameter.limit = $real/" $real.ini
        expect 0 bundle -t $real.ini --templates templates --accept-other-versions --output $real --source own.cu=scale
    done
    equal "$(ls 1e3/cubin)" "$(ls 1000.0/cubin)"
}

@test "a bundle has the application's own source for a cold and for a warm cache" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    sed -n '/^\[/,$p' results/tuned.ini >entry
    sed 's/^\[.*/[scale 00000a55]/; s/^cache = .*/cache = warm/; s/^\(parameter.block_size =\) .*/\1 64/' entry >>results/tuned.ini
    printf '#include "scale.cu"\n' >own.cu
    expect 0 bundle --templates "$sweeps/templates" --output bundle --source own.cu=scale
    set -- bundle/cubin/*.cubin
    equal "$#" 4
}

@test "a bundle refuses another version of the template, with what to do" {
    tuned tuned.ini 00000001 Alpha 80 1024 1000
    expect 2 bundle --tuned tuned.ini --templates "$sweeps/templates" --output bundle
    has err "another version of the template" "tune it again"
    [ ! -e bundle/tuned.ini ]
    expect 2 bundle --tuned nowhere.ini --output bundle
    expect 2 bundle --tuned tuned.ini
    expect 2 bundle --tuned tuned.ini --output bundle --kernel nothing
}

@test "a bundle can be told to accept another version of the template" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    mkdir newer
    cp "$sweeps"/templates/scale.* newer
    sed -i 's/^\[problem\]/newer_parameter = 3\n&/' newer/scale.ini
    sed -i '1i #define NEWER' newer/scale.cu
    expect 2 bundle --templates newer --output bundle
    has err "another version of the template" --accept-other-versions
    expect 0 bundle --templates newer --output bundle --accept-other-versions
    equal "$(sed -n 's/^template_hash = //p' bundle/tuned.ini)" "$(sed -n 's/^template_hash = //p' results/tuned.ini)"
    equal "$(head -c 4 bundle/cubin/scale-*.cubin | tail -c 3)" ELF
    cmp newer/scale.cu bundle/templates/scale.cu
    expect 0 explain -k scale -t bundle # as tuned_kernel_get() would
    has out "defaults of the template" "another version of the template"
}

@test "a comment in a template does not cost an application its configurations" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    mkdir newer
    cp "$sweeps"/templates/scale.* newer
    sed -i '1i // a remark' newer/scale.cu
    sed -i 's/^description = .*/description = another/' newer/scale.ini
    expect 0 bundle --templates newer --output bundle
}

@test "a bundle that is refused leaves nothing behind, and the one that was there as it was" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    sed -i 's/^template_hash = ./template_hash = x/' results/tuned.ini
    expect 2 bundle --templates "$sweeps/templates" --output bundle
    equal "$(echo bundle*)" "bundle*"
    expect 0 --config "$sweeps/scale.ini" --quiet
    expect 0 bundle --templates "$sweeps/templates" --output bundle/
    equal "$(echo bundle*)" "bundle"
    cp -r bundle before
    cp -r "$sweeps/templates" .
    echo "int x = oops;" >>templates/scale.cu
    autotune --config "$sweeps/scale.ini" --quiet
    sed -i 's/^template_hash = ./template_hash = x/' results/tuned.ini
    expect 2 bundle --templates templates --output bundle
    diff -r bundle before
    equal "$(echo bundle*)" "bundle"
}

@test "an unknown kernel is named with the nearest, by every command" {
    expect 0 --config "$sweeps/scale.ini" --quiet
    local command
    for command in "explain --arch sm_90" "export --header" "report" "bundle --output b" \
        "tune --config $sweeps/scale.ini" "check --config $sweeps/scale.ini"; do
        # shellcheck disable=SC2086
        expect 2 $command --kernel scael
        has err "unknown kernel 'scael'; did you mean 'scale'?"
    done
    expect 2 bundle --output b --templates "$sweeps/templates" --source own.cu=scael
    has err "unknown kernel 'scael'; did you mean 'scale'?"
    expect 2 emit --kernel scael --templates "$sweeps/templates"
    has err "no template 'scael'; did you mean 'scale'?"
    expect 0 compare --help
    has out "Usage: autotune compare A B"
}

@test "emit shows the compiler's whole message" {
    cp -r "$sweeps/templates" .
    printf '__device__ int first = oops_one;\n__device__ int second = oops_two;\n' >>templates/scale.cu
    expect 2 emit --kernel scale --templates templates --cubin --output scale.cubin
    has err oops_one oops_two "compilation failed"
    [ ! -e scale.cubin ]
}
