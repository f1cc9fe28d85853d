import { CodedError } from '@countersign/protocol'
import type { Standing } from './rate.ts'

/** So many requests wait in all: a process keeps each of them in memory meanwhile. */
const LONGEST_LINE = 1024
/** Whoever has waited longer has most likely gone. */
const PATIENCE_MS = 5000
const RETRY_AFTER_SECONDS = 1

/** What is left of a quota of failures for somebody who tries, and the end of that. */
export interface Attempt {
  readonly standing: Standing
  /** To be called once, when it is over; before that, what has failed has to be taken from the quota. */
  end(): void
}

/** Those who try under one quota, and those who wait for them to end. */
interface Group {
  inside: number
  readonly line: ((standing: Standing) => void)[]
}

/**
 * Lets no more try at once than may still fail, since each of them could. Whoever comes beside them is not refused, for they may
 * all be honest, but waits in line until one has ended. Once nothing is left all who wait are refused.
 */
export class Attempts {
  readonly #groups = new Map<string, Group>()
  #waiting = 0

  /**
   * @param key whose quota it is
   * @param left what this process knows to be left of it now
   * @throws CodedError UNAVAILABLE where too many wait, or it has waited for too long
   */
  async begin(key: string, left: () => Standing): Promise<Attempt> {
    const standing = left()
    if (!standing.isAllowed) return refused(standing)
    const group = this.#groups.get(key) ?? { inside: 0, line: [] }
    this.#groups.set(key, group)
    const end = () => this.#end(key, group, left)
    if (group.line.length === 0 && group.inside < standing.remaining) {
      group.inside += 1
      return { standing, end }
    }
    const later = await this.#wait(group)
    return later.isAllowed ? { standing: later, end } : refused(later)
  }

  async #wait({ line }: Group): Promise<Standing> {
    if (this.#waiting >= LONGEST_LINE) throw tooMany()
    this.#waiting += 1
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<Standing>((resolve, reject) => {
        line.push(resolve)
        timer = setTimeout(() => {
          line.splice(line.indexOf(resolve), 1)
          reject(tooMany())
        }, PATIENCE_MS)
      })
    } finally {
      clearTimeout(timer)
      this.#waiting -= 1
    }
  }

  #end(key: string, group: Group, left: () => Standing): void {
    const { line } = group
    group.inside -= 1
    const standing = left()
    if (!standing.isAllowed) for (const refuse of line.splice(0)) refuse(standing)
    // At least one goes on where nobody is inside: nobody waits for nothing.
    const free = Math.max(0, standing.remaining - group.inside)
    const next = line.splice(0, free)
    group.inside += next.length
    for (const admit of next) admit(standing)
    if (group.inside === 0) this.#groups.delete(key)
  }
}

function refused(standing: Standing): Attempt {
  return { standing, end: () => undefined }
}

function tooMany(): CodedError {
  return new CodedError(
    'UNAVAILABLE',
    'Too many claims at once. Nothing was done: try again in a second.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
}
