import { NotThere, OutOfReach } from './perspective.ts'
import { reasonOf } from './reasons.ts'

/**
 * Waits for work until a signal ends the waiting: not everything can be ended itself, a look-up in the DNS cannot.
 * @param place what is asked, for people
 * @throws NotThere, OutOfReach: what fails on the network becomes a sentence
 */
export async function inTime<T>(place: string, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: end, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(signal.reason)
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([work, end])
  } catch (error) {
    if (error instanceof NotThere || error instanceof OutOfReach) throw error
    throw new OutOfReach(reasonOf(error, place))
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
