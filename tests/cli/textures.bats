#!/usr/bin/env bats
# Texture objects over a buffer as arguments. The stand-in reads them as a GPU does: at points and between them, clamped
# or with a border of zeros.
shared_cubins=yes
load helper

@test "textures in linear memory and of two dimensions read what memory holds" {
    stand_in "log = $scratch/calls" base_ns=2000
    sweep "[blur]" "method = memory, fetch, point, linear" "block_size = 128, 256"
    measures 8 --config sweep.ini
    # six variants have one; finalists load again, and the driver frees those when the worker exits
    [ "$(grep -c cuTexObjectDestroy calls)" -ge 6 ]
    # one address cannot be the address of every run of a batch, unless the cache is warm
    equal "$(count runs 1)" 8
    sed -i 's/^\[kernel\]/&\ncache = warm/' templates/blur.ini
    expect 0 --config sweep.ini --format csv
    equal "$(count runs 32)" 8
}

@test "a texture's border, and its extents, are as the template says" {
    sweep "[blur]" "method = point, linear"
    sed -i 's/texture(in, width, height)/texture(in, width, height, border)/' templates/blur.ini
    expect 0 --config sweep.ini --format csv
    paste -d: <(column method) <(column outcome) >outcomes
    has outcomes point:wrong_result linear:measured
}

@test "what a texture cannot be is refused, with the reason" {
    while IFS='|' read -r edit message; do
        sweep <<<$'[blur]\nmethod = linear'
        sed -i "$edit" templates/blur.ini
        autotune --config sweep.ini --format csv
        [ "$code" -ne 0 ]
        cat out err >message
        has message "$message"
    done <<'END'
s/texture(in, width, height, linear, clamp)/texture(in, width, 2 * height)/|the texture has 64 * 96 elements, but its buffer has 3072
s/texture(in, width, height, linear, clamp)/texture(in, 33, 2)/|a row of the texture takes 132 bytes; it must be a multiple of 32
s/texture(in, width, height, linear, clamp)/texture(in, width - 64, 2)/|a texture's width of launch 'linear' would be 0
s/texture(in, width, height, linear, clamp)/texture(in, width)/|needs a width and a height, or neither
s/texture(in, width, height, linear, clamp)/texture(in, linear)/|needs a width and a height, or neither
s/texture(in, width, height, linear, clamp)/texture(in, width, height, fuzzy)/|'fuzzy' in a texture is none of point, linear
s/texture(in, width, height, linear, clamp)/texture(image, width, height)/|is not a texture over a buffer
s/^arguments = in, out/arguments = texture(in), out/|parameter 1 of kernel 'blur_memory' is 'const float *in', but the argument is 'texture(in)'
/^reference/{n;s/= in/= texture(in)/}|reference 'blur_reference' has a texture; give it the buffer itself
END
    sweep <<<$'[blur]\nmethod = linear'
    sed -i '/^\[buffer.in/,/^length/s/float/double/' templates/blur.ini
    sed -i 's/const float \*in/const double *in/' templates/blur.cu
    autotune --config sweep.ini
    cat out err >message
    has message "a texture cannot have elements of type double"
}
