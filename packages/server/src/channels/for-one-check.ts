import { OutOfReach, type Perspective } from '../core/network/perspective.ts'

/**
 * A perspective for the time of one check. What it was asked once it is not asked again: a place is visited once, however
 * many tokens and methods are looked for. Once the check is over it says that nobody knows.
 */
export function forOneCheck(from: Perspective, over: AbortSignal): Perspective {
  const answers = new Map<string, Promise<unknown>>()
  const ended = new Promise<never>((_resolve, reject) => {
    const end = () => reject(new OutOfReach('The check took too long and was given up.'))
    if (over.aborted) end()
    else over.addEventListener('abort', end, { once: true })
  })
  // Nobody may be waiting when it ends.
  ended.catch(() => undefined)
  const once = <T>(question: string, ask: () => Promise<T>): Promise<T> => {
    if (over.aborted) return ended
    const known = answers.get(question) as Promise<T> | undefined
    if (known !== undefined) return known
    const answer = Promise.race([ask(), ended])
    answers.set(question, answer)
    return answer
  }
  return {
    name: from.name,
    txt: (name) => once(`TXT ${name}`, () => from.txt(name)),
    get: (url, accept) => once(`GET ${url.href} ${accept}`, () => from.get(url, accept)),
  }
}
