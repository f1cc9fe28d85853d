import assert from 'node:assert/strict'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import { textOf, unescaped } from './html.ts'

const FORM = 'application/x-www-form-urlencoded'
export const URL_OF_ORDERS = 'https://shop.example/orders?page=2'

type Headers = readonly (readonly [string, string])[]

/** A raw request, as it is pasted. */
export function rawRequest(
  headers: Headers,
  { method = 'GET', target = '/orders?page=2', body = '' } = {},
) {
  return [`${method} ${target} HTTP/1.1`, ...linesOf(headers), '', body].join('\r\n')
}

export function linesOf(headers: Headers): string[] {
  return headers.map((each) => each.join(': '))
}

/** Sends the form of /check/request, which stores nothing. @returns the page */
export async function check(
  service: TestService,
  request: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<string> {
  const body = new URLSearchParams({ request, ...fields }).toString()
  const answer = await unchanged(service, () => post(service, '/check/request', body, FORM))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return answer.text
}

/** Opens /check/request or a link to a case. @returns the page */
export async function open(service: TestService, path = '/check/request'): Promise<string> {
  const answer = await ask(service, path)
  assert.equal(answer.status, 200, answer.text)
  return answer.text
}

/** The outcome of each check by its name, in order. */
export function outcomesOf(html: string): Record<string, string> {
  const rows = html.matchAll(/<li id="check-([a-z]+)" data-outcome="([a-z-]+)"/g)
  return Object.fromEntries([...rows].map(([, name = '', outcome = '']) => [name, outcome]))
}

/** The only check that did not pass, apart from what nobody but the site can check. */
export function stopOf(html: string): string {
  const stops = Object.entries(outcomesOf(html)).filter(([, outcome]) =>
    ['failed', 'undecided'].includes(outcome),
  )
  assert.equal(stops.length, 1, JSON.stringify(outcomesOf(html)))
  return stops[0]?.join(' ') ?? ''
}

export function verdictOf(html: string): string {
  const [, verdict = ''] = /<div id="verdict"[^>]*>(.*?)<\/section>/s.exec(html) ?? []
  return textOf(verdict).trim()
}

/** The text of a check. */
export function checkText(html: string, name: string): string {
  const [, row = ''] = new RegExp(`<li id="check-${name}"[^>]*>(.*?)</li>`, 's').exec(html) ?? []
  return textOf(row)
}

/** What the request consists of, with how it is covered. */
export function partsOf(html: string): [cover: string, text: string][] {
  const parts = html.matchAll(/data-cover="(\w+)"><span class="sr-only">[^<]*<\/span>([^<]*)</g)
  return [...parts].map(([, cover = '', text = '']) => [cover, unescaped(text)])
}

export function linkOf(html: string): string {
  const [, path = ''] = /href="(\/check\/request\?[^"]*)"/.exec(html) ?? []
  return unescaped(path)
}

/** The request of the form. */
export function requestOf(html: string): string {
  const [, text = ''] = /<textarea id="request"[^>]*>(.*?)<\/textarea>/s.exec(html) ?? []
  return unescaped(text)
}
