"""Hard caps: what no configuration lifts. Each with its unit and its reason."""

KIB = 1024
MIB = 1024 * KIB

# Paths
PATH_MAX_BYTES = 4096  # Linux PATH_MAX, one more than the longest path a system call takes
NAME_MAX_BYTES = 255  # Linux NAME_MAX
PATH_DEPTH_MAX = 256  # components; deeper trees exist only to break tools
SYMLINKS_MAX = 40  # Linux MAXSYMLINKS: the kernel's own bound
OPENAT2_TRIES = 64  # EAGAIN says that a rename raced; 64 in a row is an attack, not bad luck

# Requests
BATCH_MAX = 100  # requests in one batch: each costs a task
META_OP_MAX_CHARS = 64
CLIENT_NAME_MAX_CHARS = 200  # printable characters of client and objective
TASK_ID_MAX_CHARS = 64
SOCKET_PATH_MAX_BYTES = 107  # sun_path holds 108 with its NUL
SLOW_CLIENT_TIMEOUT_S = 30.0
STOP_DEADLINE_S = 10.0
SESSIONS_MAX = 512
RESUME_VALID_S = 600.0
LOCK_WAITERS_MAX = 1000

# Parameters
# The largest integer that every reader of JSON keeps exact (RFC 8259, section 6). It leaves room to count on from it:
# no sum of a few parameters meets the 64 bits of system calls and of the history's columns.
INTEGER_MAX = 2**53 - 1

# Results
DATA_MAX_BYTES_AGENT = 64 * KIB
DATA_MAX_BYTES_OPERATOR = 4 * MIB
BASE64_MAX_BYTES = MIB
SHA256_MAX_BYTES = MIB  # larger files are not hashed on a read: it would cost more than the read
DIFF_MODEL_MAX_CHARS = 12_288
DIFF_DISPLAY_MAX_CHARS = 16 * KIB
DIFF_FILE_MAX_BYTES = 64 * KIB
DIFF_FILE_MAX_LINES = 2_000
BINARY_SNIFF_BYTES = 8 * KIB
READ_BACK_BUFFER_BYTES = 32 * KIB
BASE64_RUN_MIN_CHARS = 1024  # shorter runs are ids and keys that a model may need
EDIT_MAX_BYTES = 64 * MIB  # edit_file and write_file hold old and new in memory
ARTIFACT_MAX_AGE_S = 7 * 86_400.0
ARTIFACTS_MAX_BYTES = 256 * MIB

# Writes
LEASE_WAIT_S = 0.2  # a writer that has the file open for longer is told about
EXCHANGE_ROUNDS = 3  # an editor that saves three times within one commit will do so a fourth time
TEMP_PREFIX = b".picoclawd."
TEMP_SUFFIX = b".tmp"

# Syntax check
BRACKET_STACK_MAX = 256

# What a worker that reads one document may write to: what a hostile file can make the machine give up. A picture of
# 100 megapixels needs 300 MB.
DOCUMENT_DATA_BYTES = 352 * MIB
