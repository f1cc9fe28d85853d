import assert from 'node:assert/strict'
import { ask, post } from '../../../../../test/support/ask.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import { unescaped } from './html.ts'

export type Fields = Readonly<Record<string, string>>

const FORM = 'application/x-www-form-urlencoded'
export const ORIGIN = 'https://shop.example'

/** Sends the form of the console. @param policy the text, or what it is the JSON of */
export async function send(
  service: TestService,
  policy: unknown,
  fields: Fields = {},
): Promise<string> {
  const text = typeof policy === 'string' ? policy : JSON.stringify(policy)
  const form = new URLSearchParams({ origin: ORIGIN, policy: text, ...fields })
  const answer = await post(service, '/console', form.toString(), FORM)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return answer.text
}

export async function open(service: TestService, path: string): Promise<string> {
  const answer = await ask(service, path)
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

/** What the page shows of a caller. */
export interface ShownCaller {
  /** The decisions: one, or one for each method. */
  readonly words: readonly string[]
  /** The codes of the reasons. */
  readonly reasons: readonly string[]
  /** The headers that the site receives, or the response. */
  readonly lines: readonly string[]
}

export function callersOf(html: string): Readonly<Record<string, ShownCaller>> {
  const rows = html.matchAll(/<details id="caller-(\w+)"(.*?)<\/details>/gs)
  return Object.fromEntries(
    [...rows].map(([, name = '', row = '']) => [
      name,
      {
        words: all(row, /rounded-full[^>]*>.*?<\/svg>(.*?)<\/span>/gs),
        reasons: all(row, />\(([a-z-]+)\)</g),
        lines: all(row, /<code class="block[^>]*>(.*?)<\/code>/g),
      },
    ]),
  )
}

/** The words of each caller's decisions. */
export function wordsOf(html: string): Record<string, string> {
  const callers = Object.entries(callersOf(html))
  return Object.fromEntries(callers.map(([name, { words }]) => [name, words.join('; ')]))
}

/** The code for each framework, and the file of countersign-gateway. */
export function codesOf(html: string): readonly string[] {
  return all(html, /<pre tabindex="0"><code>(.*?)<\/code>/gis)
}

/** The file of countersign-gateway; null if none is shown. */
export function fileOf(
  html: string,
): { service: string; audiences?: string[]; policy?: object } | null {
  const text = codesOf(html).at(-1)
  return text === undefined ? null : JSON.parse(text)
}

/** What is wrong with the policy: `2: requireProof must be true or false.` */
export function faultsOf(html: string): string[] {
  const [, list = ''] = /<ul id="policy-faults"[^>]*>(.*?)<\/ul>/s.exec(html) ?? []
  return all(list, /data-line="\d+"[^>]*>Line (.*?)<\/li>/gs).map((each) =>
    each.replace(/<\/a><span[^>]*>/, ': ').replace('</span>', ''),
  )
}

/** The address of the state that is shown. */
export function linkOf(html: string): string {
  return all(html, /href="(\/console\?[^"]*)"/g)[0] ?? ''
}

export function policyOf(html: string): string {
  return all(html, /<textarea id="policy"[^>]*>(.*?)<\/textarea>/gs)[0] ?? ''
}

function all(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, text = '']) => unescaped(text))
}
