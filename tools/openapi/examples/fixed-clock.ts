const realNow = Date.now

/** The time of this process in milliseconds since 1970; real until it is set, since certificates of test sites are. */
export const clock: { time: number | null; readonly now: () => number } = {
  time: null,
  now: () => clock.time ?? realNow(),
}

// Before the modules of the service are loaded, some of which keep the function.
Date.now = clock.now
