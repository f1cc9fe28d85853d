/** The exit codes of `countersignd` and `countersign`, on which scripts rely. Both list them in `--help`. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unavailable: 5,
} as const
