#!/usr/bin/env bats
# Tensor maps as arguments: the stand-in encodes them and loads boxes through them, with zeros beyond the edges and
# swizzled, as a GPU does.
shared_cubins=yes
load helper

@test "tensor maps load the boxes that the template says" {
    stand_in "log = $scratch/calls"
    sweep "[tensor]" "mode = plain, swizzled" "(width, height, pitch) = (100, 70, 104), (32, 64, 32)"
    measures 4 --config sweep.ini
    has calls "tensor map: type 7 rank 2 swizzle 0 interleave 0 l2 2 fill 0" \
        "tensor map: type 7 rank 2 swizzle 3 interleave 0 l2 3 fill 0"
    # a map holds addresses, so the runs of a cold batch cannot have buffers of their own
    equal "$(count runs 1)" 4
}

@test "a tensor map's sizes, strides and swizzle decide what is right" {
    while read -r edit; do
        sweep <<<$'[tensor]\nmode = swizzled'
        sed -i "$edit" templates/tensor.ini
        autotune --config sweep.ini --format csv
        equal "$(column outcome)" wrong_result
    done <<'END'
s/, swizzle(128)//
s/(in, (width, height)/(in, (width - 4, height)/
s/strides(pitch), swizzle/strides(pitch - 4), swizzle/
END
}

@test "a tensor map beyond the driver's limits makes the variant invalid, in static mode too" {
    sweep <<<$'[tensor]\nmode = swizzled\nblock_size = 64, 128'
    sed -i 's/(32, 32), strides(pitch), sw/(block_size - 32, 32), strides(pitch), sw/' templates/tensor.ini
    autotune --config sweep.ini --arch sm_90 --format csv
    equal "$(column outcome | sort | tr '\n' ' ')" "compiled invalid "
    has out "tensor.ini:36: cannot evaluate 'block_size - 32': a row of the tensor map's box would take 384 bytes, but swizzle(128) allows at most 128 (block_size = 128)"
}

@test "what is no tensor map is refused at the template's line" {
    while IFS='|' read -r edit message; do
        sed "$edit" "$sweeps/templates/tensor.ini" >tensor.ini
        cp "$sweeps/templates/tensor.cu" .
        expect 2 check --template tensor.ini
        has err "tensor.ini:" "$message"
    done <<'END'
s/l2(256)/swizzle(64)/|'swizzle' is given twice in a tensor map
s/l2(256)/strides(pitch)/|'strides' is given twice in a tensor map
s/strides(pitch), sw/strides(pitch, pitch), sw/|'pitch, pitch' of a tensor map has 2 expressions; it takes 1
s/(32, 32), strides(pitch), sw/(32, 32, 1), strides(pitch), sw/|'(32, 32, 1)' of a tensor map has 3 expressions; it takes 2
s/l2(256)/fuzzy/|'fuzzy' in a tensor map is none of swizzle(64), interleave(32), l2(256), strides(n), steps(1, 2), fill_nan
s/tensor_map(in, (width, height), (32, 32), .*), out/tensor_map(in, (width, height)), out/|does not name a buffer, its dimensions and a box
s/= tensor_map(in,/= tensor_map(image,/|does not name a buffer, its dimensions and a box
s/^arguments = in/arguments = tensor_map(in, width, 32)/|reference 'tensor_reference' has a tensor map; give it the buffer itself
END
}

@test "a tensor map is a parameter by value, and not a pointer" {
    while IFS='|' read -r edit message; do
        sed "$edit" "$sweeps/templates/tensor.ini" >tensor.ini
        cp "$sweeps/templates/tensor.cu" .
        expect 2 check --compile --template tensor.ini --arch sm_90
        has err "tensor.ini:29: " "$message"
    done <<'END'
s/arguments = tensor_map.*, out, int/arguments = in, out, int/|kernel 'tensor_plain' has parameter 1, 'const __grid_constant__ tensor_map in', of 128 bytes; 'arguments' gives 'in', of 8 bytes
s/, out, int32 width/, tensor_map(out, width, 32), int32 width/|parameter 2 of kernel 'tensor_plain' is 'float *out', but the argument is 'tensor_map(out, …)'
END
    cp "$sweeps/templates/tensor.ini" .
    expect 2 check --compile --template tensor.ini --arch sm_80
    has err "tensor.ini:29: argument 'in' of launch 'plain' is a tensor map, which needs compute capability 9.0 or newer"
}

@test "a tensor map that reaches beyond its buffer is refused" {
    sweep <<<$'[tensor]'
    sed -i 's/(in, (width, height)/(in, (width, height + 1)/' templates/tensor.ini
    autotune --config sweep.ini
    cat out err >message
    has message "the tensor map reaches 29520 bytes, but its buffer has 29120"
}
