/* The C ABI of Tenon: the registry and calls by name, for other languages, the torch extension and
 * Python's ctypes. Structures may grow at their end only; functions never change.
 *
 * Functions that can fail return a negative number or null; tenon_last_error() then has the
 * sentence. Every function may be called from any thread. */
#ifndef TENON_C_H_
#define TENON_C_H_

#include <stdint.h>

#ifndef TENON_API
#define TENON_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor: the same bytes as DLPack's DLTensor, so that a pointer to one may be passed. */
typedef struct TenonTensor {
  void* data;
  int32_t device_type; /* 1: CPU, 2: CUDA */
  int32_t device_index;
  int32_t rank;
  uint8_t dtype_code; /* 0: int, 2: float, 4: bfloat, 6: bool, 10: float8_e4m3fn */
  uint8_t dtype_bits;
  uint16_t dtype_lanes; /* 1 */
  const int64_t* sizes;
  const int64_t* strides; /* in elements; null: row-major */
  uint64_t byte_offset;
} TenonTensor;

typedef enum TenonKind {
  TENON_NONE = 0, /* None, or the default */
  TENON_TENSOR = 1,
  TENON_BOOL = 2,
  TENON_INT = 3,
  TENON_FLOAT = 4,
  TENON_STRING = 5,
  TENON_DTYPE = 6, /* `string` is its name: "int8" */
  TENON_INT_LIST = 7,
  TENON_TENSOR_LIST = 8 /* of results */
} TenonKind;

typedef struct TenonArgument {
  int32_t kind;   /* TenonKind */
  int32_t length; /* of an int list */
  union {
    const TenonTensor* tensor;
    int64_t integer; /* a bool is 0 or 1 */
    double real;
    const char* string;
    const int64_t* list;
  } value;
} TenonArgument;

/* Type and shape of a result that is still to be allocated. */
typedef struct TenonSpec {
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int32_t rank;
  int64_t sizes[8];
  int64_t strides[8]; /* in elements */
} TenonSpec;

/* One argument of an operator. */
typedef struct TenonParameter {
  const char* name;
  int32_t kind;     /* TenonKind */
  int32_t nullable; /* None may be given */
} TenonParameter;

typedef struct TenonOp TenonOp; /* lives as long as the process */

TENON_API const char* tenon_version(void);    /* "0.1.0" */
TENON_API const char* tenon_last_error(void); /* of this thread; never null */

TENON_API int64_t tenon_num_ops(void);               /* in-place forms included */
TENON_API const char* tenon_op_name(int64_t number); /* in alphabetical order */
TENON_API const TenonOp* tenon_find(const char* name);
TENON_API const char* tenon_schema(const TenonOp* op); /* "tenon::rms_norm(Tensor x, ..." */
/* "tenon::rms_norm.out(Tensor x, ..., *, Tensor(a!) out) -> ()"; "" for an in-place form. */
TENON_API const char* tenon_out_schema(const TenonOp* op);
/* The number of arguments in schema order, of which the first `capacity` are described. */
TENON_API int64_t tenon_parameters(const TenonOp* op, TenonParameter* parameters, int64_t capacity);
/* The number of tensors that a call gives; of a list of them, 1. */
TENON_API int64_t tenon_num_results(const TenonOp* op);
/* What the schema returns. TENON_TENSOR: tenon_num_results tensors. TENON_TENSOR_LIST: as many as
 * tenon_infer says. TENON_FLOAT, TENON_INT_LIST: one tensor of int64 with the bits of a float64, or
 * with the numbers. */
TENON_API int32_t tenon_result_kind(const TenonOp* op);
/* Every contract as a JSON list: arguments, shapes, defaults, results, in-place forms. */
TENON_API const char* tenon_contracts(void);

/* The number of results, of which the first `capacity` are described. */
TENON_API int64_t tenon_infer(const TenonOp* op, const TenonArgument* arguments,
                              int64_t num_arguments, TenonSpec* results, int64_t capacity);

/* Arguments in schema order. 0, or -1 for a call that is refused, -2 for an error of Tenon's. */
TENON_API int tenon_call(const TenonOp* op, const TenonArgument* arguments, int64_t num_arguments,
                         const TenonTensor* results, int64_t num_results);

/* The same with results in memory that the caller is asked for, one after the other, once the call
 * is known to be good. `allocate` gets a result that is described but for its memory, which it
 * gives (it may also change the rest), and returns 0, or what tenon_call_into then returns. */
typedef int (*TenonAllocate)(void* context, int64_t number, const TenonSpec* spec,
                             TenonTensor* result);
TENON_API int tenon_call_into(const TenonOp* op, const TenonArgument* arguments,
                              int64_t num_arguments, TenonAllocate allocate, void* context);

/* Hands the rows of CPU operators to the caller's threads: `run` calls fn(context, begin, end) for
 * disjoint ranges that cover [0, count), each at least `grain` long but the last, and returns when
 * all have returned. Null restores Tenon's own threads. Not while a call runs. */
typedef void (*TenonRangeFn)(void* context, int64_t begin, int64_t end);
typedef void (*TenonParallelFor)(int64_t count, int64_t grain, TenonRangeFn fn, void* context);
TENON_API void tenon_set_parallel_for(TenonParallelFor run);

/* Ranks that compute together (include/tenon/comm.h): what a kind of group has to do is to move
 * bytes between its ranks, within the seconds given. Returns 0; or another number, after which the
 * group cannot be used any more, with the reason, a text that ends in 0, in `reason`. */
#define TENON_REASON_BYTES 512
typedef int (*TenonTransfer)(void* context, const void* in, void* out, int64_t bytes,
                             double timeout_s, char* reason);
typedef struct TenonTransport {
  int32_t rank;
  int32_t size;
  void* context;
  TenonTransfer gather;   /* in[bytes] of every rank -> out[size][bytes] of every rank */
  TenonTransfer exchange; /* in[size][bytes] -> out[size][bytes]: block j of `in` is block `rank` of
                             rank j's `out` */
} TenonTransport;

/* Makes a group known to operators by its name, in place of one of that name. */
TENON_API int tenon_register_group(const char* name, const TenonTransport* transport);

/* The rank of this process in a group; a negative number when there is no group of that name. */
TENON_API int tenon_group_rank(const char* name);

/* Makes a group of processes that mpirun started (MakeMpiGroup of include/tenon/comm.h) known by
 * its name; its rank and size go where `rank` and `size` point. */
TENON_API int tenon_register_mpi_group(const char* name, int32_t color, int32_t* rank,
                                       int32_t* size);

/* `find` is asked for names that are not registered: it registers the group and returns 0, or
 * returns another number. Null: nobody is asked. */
TENON_API void tenon_set_group_finder(int (*find)(const char* name));

#ifdef __cplusplus
}
#endif

#endif /* TENON_C_H_ */
