import { keyThumbprint } from '@countersign/protocol'
import type { PastedRequest } from './parse-pasted.ts'
import { OTHER_KEY } from './sample-request.ts'

/** What somebody could do to a request on its way, or with a copy of it. */
export const BREAKS = [
  { name: 'path', title: 'Change the path' },
  { name: 'age', title: 'Age it' },
  { name: 'replay', title: 'Replay it' },
  { name: 'header', title: 'Add a header' },
  { name: 'key', title: 'Swap the key' },
] as const

type BreakName = (typeof BREAKS)[number]['name']

/** A request after something was done to it. */
export interface BrokenRequest {
  readonly name: BreakName | null
  readonly request: PastedRequest
  /** What was done, as a sentence; empty: nothing. */
  readonly done: string
  /** What is marked as changed: a derived component such as `@path`, or the name of a header field in lower case. */
  readonly changed: string | null
  /** The key that is found for the signature; null: the one that it names. */
  readonly key: Uint8Array | null
}

const PATH = /^(https?:\/\/[^/?]*)([^?]*)(.*)$/is
const ADDED = ['Authorization', 'Bearer somebody-else'] as const

export function breakRequest(request: PastedRequest, name: string): BrokenRequest {
  const whole = { name: null, request, done: '', changed: null, key: null }
  switch (BREAKS.find((each) => each.name === name)?.name) {
    case 'path': {
      const [, origin = '', path = '', query = ''] = PATH.exec(request.url) ?? []
      const other = path === '/admin' ? '/' : '/admin'
      const done = `The path was ${path}, and is ${other} now.`
      return {
        ...whole,
        name: 'path',
        request: { ...request, url: origin + other + query },
        done,
        changed: '@path',
      }
    }
    case 'age':
      return {
        ...whole,
        name: 'age',
        done: 'The clock is one minute past the end of the signature.',
      }
    case 'replay': {
      const done = 'The same request has arrived a second time.'
      return { ...whole, name: 'replay', done, changed: 'signature' }
    }
    case 'header': {
      const headers = [...request.headers, [...ADDED] as [string, string]]
      const done = `Somebody has added ${ADDED[0]}, to act with other rights.`
      return {
        ...whole,
        name: 'header',
        request: { ...request, headers },
        done,
        changed: 'authorization',
      }
    }
    case 'key': {
      const keyid = `keyid="${keyThumbprint(OTHER_KEY)}"`
      const headers = request.headers.map(([each, value]): [string, string] => [
        each,
        /^signature-input$/i.test(each) ? value.replace(/keyid="[^"]*"/, keyid) : value,
      ])
      const done = 'keyid names another key now, which is found and has not signed this request.'
      return {
        ...whole,
        name: 'key',
        request: { ...request, headers },
        done,
        changed: 'signature-input',
        key: OTHER_KEY,
      }
    }
    default:
      return whole
  }
}
