import type pg from 'pg'

/** Whatever the server's default is: what is answered has to be on its disk. A stricter setting stays. */
export const DURABLE = `select set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, false)`

/**
 * Whether the server warns. The severity is told in its own language: the code is not, and class 00 is no warning. That
 * the queue of notifications fills up says nothing of a commit.
 */
export function isWarning({ code, routine }: Pick<pg.DatabaseError, 'code' | 'routine'>): boolean {
  return !code?.startsWith('00') && routine !== 'asyncQueueFillWarning'
}
