import { setImmediate as endOfTurn } from 'node:timers'

/*
 * The current turn of the event loop. libuv may handle 48 times 1,024 socket events before `setImmediate` runs: with
 * thousands of busy connections one turn takes seconds, in which work that waits for its end would starve. There is one
 * event loop in a process, so this is the state of the module.
 */

/** How long deferred work waits at most while requests keep arriving. */
const MAX_DEFERRED_MS = 10
/** Requests that are already waiting in the kernel have waited about as long as the turn has taken. */
const MAX_TURN_MS = 100
/** A turn with fewer requests may take long for other reasons, such as a large module that is loaded. */
const FLOOD_REQUESTS = 256

interface Turn {
  readonly began: number
  /** When deferred work ran last. */
  ranAt: number
  requests: number
}

let turn: Turn | null = null
let deferred: (() => void)[] = []

/** Runs `work` together with other deferred work: at the end of the turn, or between two requests of a long one. */
export function deferWork(work: () => void): void {
  currentTurn()
  deferred.push(work)
}

/** Call it as each request begins. */
export function beginRequest(): void {
  const current = currentTurn()
  current.requests += 1
  if (deferred.length === 0 || performance.now() - current.ranAt < MAX_DEFERRED_MS) return
  runDeferred()
  current.ranAt = performance.now()
}

/** Whether more requests arrive in this turn than connections of a normal load have. */
export function isFlooded(): boolean {
  return turn !== null && turn.requests > FLOOD_REQUESTS
}

/** Whether requests of this turn wait so long that no more of them should be admitted. */
export function isTurnTooLong(): boolean {
  return turn !== null && isFlooded() && performance.now() - turn.began > MAX_TURN_MS
}

function currentTurn(): Turn {
  if (turn === null) {
    const now = performance.now()
    turn = { began: now, ranAt: now, requests: 0 }
    endOfTurn(() => {
      turn = null
      runDeferred()
    })
  }
  return turn
}

function runDeferred(): void {
  const works = deferred
  deferred = []
  for (const work of works) work()
}
