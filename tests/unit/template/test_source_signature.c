#include "template/source_signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_signature(const char *source, const char *expected)
{
    struct source_signature signature;
    assert_true(source_signature_read(source, "k", &signature));
    char *text = source_signature_text(&signature);
    assert_string_equal(text, expected);
    free(text);
    source_signature_release(&signature);
}

static void assert_unknown(const char *source)
{
    struct source_signature signature;
    assert_false(source_signature_read(source, "k", &signature));
    assert_int_equal(signature.count, 0);
    assert_null(signature.parameters);
}

static void parameters_are_as_the_source_writes_them(void **state)
{
    (void)state;
    assert_signature("extern \"C\" __global__ void k(const float *__restrict__ in, int n) {}",
                     "const float *__restrict__ in, int n");
    assert_signature(
        "extern \"C\" {\n__global__ void __launch_bounds__(N, (1))\n  k(float * /* x */ in)"
        " { k(1); } }",
        "float * in");
    assert_signature("__global__ void k(); void k(int);", "");
    assert_signature("__global__ void k(void);", "");
    assert_signature("__global__ void k(pair<int, 2> a, float b[4]);",
                     "pair<int, 2> a, float b[4]");
    assert_signature(
        "__global__ void k(pair<int, vec<int>> p, vec<vec<vec<int>>> q, int n = 8 >> 1);",
        "pair<int, vec<int>> p, vec<vec<vec<int>>> q, int n = 8 >> 1");
    assert_signature("__global__ void k(vec<(N >> 1)> p, int n);", "vec<(N >> 1)> p, int n");
    assert_signature("__global__ void k(int n);\n#define X k(\n__global__ void k(int n) {}",
                     "int n");
}

static void what_cannot_be_told_is_unknown(void **state)
{
    (void)state;
    assert_unknown("");
    assert_unknown("void k(int n);");
    assert_unknown("__global__ void other(int n);");
    assert_unknown("#define K __global__ void k(int n)\nK {}");
    assert_unknown("__global__ void k(int n);\n__global__ void k(float n);");
    assert_unknown("__global__ void k(int n\n#if X\n, int m\n#endif\n);");
    assert_unknown("__global__ void k(int n");
    assert_unknown("__global__ void k(");
}

static void assert_parameter(const char *parameter, bool pointer, int type)
{
    char source[128];
    struct source_signature signature;
    (void)snprintf(source, sizeof source, "__global__ void k(%s) {}", parameter);
    assert_true(source_signature_read(source, "k", &signature));
    assert_int_equal(signature.count, 1);
    assert_int_equal(signature.parameters[0].pointer, pointer);
    assert_int_equal(signature.parameters[0].known, type >= 0);
    if (type >= 0)
        assert_int_equal(signature.parameters[0].type, type);
    source_signature_release(&signature);
}

static void basic_types_are_known(void **state)
{
    (void)state;
    assert_parameter("int n", false, ELEMENT_INT32);
    assert_parameter("unsigned n", false, ELEMENT_UINT32);
    assert_parameter("const unsigned long long int n", false, ELEMENT_UINT64);
    assert_parameter("long", false, ELEMENT_INT64);
    assert_parameter("short int s", false, ELEMENT_INT16);
    assert_parameter("unsigned char c", false, ELEMENT_UINT8);
    assert_parameter("bool b", false, ELEMENT_UINT8);
    assert_parameter("std::size_t n", false, ELEMENT_UINT64);
    assert_parameter("double const *const x", true, ELEMENT_DOUBLE);
    assert_parameter("const __half *__restrict__ x", true, ELEMENT_HALF);
    assert_parameter("float x[]", true, ELEMENT_FLOAT);
}

static void other_types_are_not(void **state)
{
    (void)state;
    assert_parameter("u64 n", false, -1);
    assert_parameter("T *x", true, -1);
    assert_parameter("void *x", true, -1);
    assert_parameter("float4 *x", true, -1);
    assert_parameter("float **x", true, -1);
    assert_parameter("float *RESTRICT x", true, -1);
    assert_parameter("long double x", false, -1);
    assert_parameter("struct point p", false, -1);
}

/* What `parameter` is in an instance of template <DECLARED> k; -1: not known. */
static int type_in(const char *declared, const char *parameter, const char *symbol)
{
    char source[256];
    struct source_signature signature;
    (void)snprintf(source, sizeof source,
                   "template <class U> struct other {};\ntemplate <%s>\n__global__ void k(%s) {}",
                   declared, parameter);
    assert_true(source_signature_read(source, "k", &signature));
    assert_false(signature.parameters[0].known);
    struct source_parameter instance = source_parameter_in(&signature.parameters[0], symbol);
    int type = instance.known ? (int)instance.type : -1;
    source_signature_release(&signature);
    return type;
}

/* The names are NVRTC's. */
static void a_mangled_name_tells_the_types_of_a_template(void **state)
{
    (void)state;
    static const char half[] = "_Z5scaleI6__halfLi4EEvPKT_PS1_yS1_PKS3_";
    assert_int_equal(type_in("typename T, int N", "const T *in", half), ELEMENT_HALF);
    assert_int_equal(type_in("typename T, int N", "T f", half), ELEMENT_HALF);
    assert_int_equal(type_in("typename T, int N", "const T *const *p", half), -1);
    assert_int_equal(type_in("typename T, int N", "vec<T> p", half), -1);
    assert_int_equal(type_in("typename T, int N", "U *p", half), -1);
    assert_int_equal(type_in("typename T, int N", "N *p", half), -1);
    assert_int_equal(type_in("int N = (8 >> 1), class A = vec<vec<int>>, class B = int", "B *p",
                             "_ZN2ns1kILin4EfhEEvPT1_"),
                     ELEMENT_UINT8);
    assert_int_equal(type_in("class A, class B", "B *p", "_ZN2ns1kI6__halfS1_NS_1VELb0ELi3EEEvPT_"),
                     ELEMENT_HALF);
    assert_int_equal(
        type_in("class A, class B, class C", "C *p", "_ZN2ns1kIfNS_1VENS_1WIiEELb1ELi3EEEvPT_"),
        -1);
    static const char *const cut[] = {
        "",           "_Z",           "_Z5sc",       "_Z5scale",   "_Z5scaleI", "_Z5scaleI6__ha",
        "_Z5scaleIS", "_Z5scaleIS9_", "_Z5scaleILi", "_Z5scaleIL", "k"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_int_equal(type_in("class T", "T *p", cut[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_as_the_source_writes_them),
        cmocka_unit_test(what_cannot_be_told_is_unknown),
        cmocka_unit_test(basic_types_are_known),
        cmocka_unit_test(other_types_are_not),
        cmocka_unit_test(a_mangled_name_tells_the_types_of_a_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
