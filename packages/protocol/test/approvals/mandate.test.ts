import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  hundredthsOf,
  type MandateTerms,
  mandateAmount,
  mandateChallenge,
  mandateFault,
  mandateStatement,
  type RequestToApprove,
} from '../../src/index.ts'

const FROM: RequestToApprove = {
  method: 'POST',
  url: 'https://shop.example/orders/4711/confirm?lang=en',
  contentType: 'application/json',
  body: '{"total":"42.00","currency":"EUR","reference":"a"}',
}
const TERMS: MandateTerms = {
  limits: { origins: ['https://shop.example'], methods: ['POST'], paths: ['/orders/*'] },
  body: {
    '/total': { atMost: '50.00' },
    '/currency': { equals: '"EUR"' },
    '/reference': 'any',
  },
  total: { pointer: '/total', amount: '200.00', days: 30 },
  perDay: 10,
}
const QUERY = 'lang=en'
const body = (text: string) => ({ ...FROM, body: text })
const url = (text: string) => ({ ...FROM, url: text })

test('the statement of a mandate is canonical JSON, and the challenge its hash', () => {
  const statement = mandateStatement({
    ...TERMS,
    agent: 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj',
    expiresAt: '2026-12-24T00:00:00.000Z',
    from: `ap_${'A'.repeat(22)}`,
    query: QUERY,
    salt: 'B'.repeat(43),
    service: 'https://id.example',
  })
  assert.equal(
    statement,
    '{"agent":"svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj","body":{"/currency":{"equals":"\\"EUR\\""},"/reference":"any","/total":{"atMost":"50.00"}},' +
      `"expiresAt":"2026-12-24T00:00:00.000Z","from":"ap_${'A'.repeat(22)}","limits":{"methods":["POST"],"origins":["https://shop.example"],"paths":["/orders/*"]},` +
      `"perDay":10,"query":"lang=en","salt":"${'B'.repeat(43)}","service":"https://id.example","total":{"amount":"200.00","days":30,"pointer":"/total"}}`,
  )
  const expected = createHash('sha256').update(`acme-mandate-v1\n${statement}`).digest()
  assert.deepEqual(Buffer.from(mandateChallenge('acme', statement)), expected)
})

test('an amount is what everybody reads alike, in hundredths', () => {
  for (const [text, amount] of [
    ['0', 0],
    ['0.05', 5],
    ['1.5', 150],
    ['"129.00"', 12_900],
    ['999999999.99', 99_999_999_999],
  ] as const) {
    assert.equal(hundredthsOf(text), amount, text)
  }
  for (const text of [
    ...['1e3', '-1', '+1', '01', '00.5', '1.', '.5', '1.005', '1,00', '1000000000', '""', '" 1"'],
    ...['"1', '1"', '""1""', '\u0661', 'null', '{}', '1\n', '"1\n"'],
  ]) {
    assert.equal(hundredthsOf(text), null, text)
  }
})

test('a mandate admits requests like the one that it was made from, and no other', () => {
  assert.equal(mandateFault(TERMS, FROM), null)
  for (const [request, amount] of [
    [FROM, 4200],
    [url('https://shop.example/orders/1?lang=en'), 4200],
    [body('{"reference":{},"currency":"EUR","total":50}'), 5000],
    [body('{ "total": 0.5, "currency": "\\u0045UR", "reference": "\u202e" }'), 50],
  ] as const) {
    assert.equal(mandateAmount(TERMS, QUERY, request), amount, request.body ?? '')
  }
  for (const request of [
    url('https://shop.example/orders/1'),
    url('https://shop.example/orders/1?lang=en&x=1'),
    url('https://shop.example/order?lang=en'),
    url('https://evil.example/orders/1?lang=en'),
    url('http://shop.example/orders/1?lang=en'),
    { ...FROM, method: 'PUT' },
    { ...FROM, body: null, contentType: null },
    body('{"total":"50.01","currency":"EUR","reference":"a"}'),
    body('{"total":"1e1","currency":"EUR","reference":"a"}'),
    body('{"total":"10.00","currency":"USD","reference":"a"}'),
    body('{"total":"10.00","currency":"EUR\u200b","reference":"a"}'),
    body('{"total":"10.00","currency":"EUR"}'),
    body('{"total":"10.00","currency":"EUR","reference":"a","tip":"900.00"}'),
    body('{"total":"10.00","currency":"EUR","reference":["a","b"]}'),
    body('{"total":"10.00","currency":"EUR","reference":{"toString":1}}'),
  ]) {
    assert.equal(mandateAmount(TERMS, QUERY, request), null, `${request.url} ${request.body}`)
  }
})

test('without a total an admitted request counts nothing, and one without a body needs none', () => {
  assert.equal(mandateAmount({ ...TERMS, total: null }, QUERY, FROM), 0)
  const bare = { ...FROM, method: 'DELETE', contentType: null, body: null }
  const limits = { ...TERMS.limits, methods: ['DELETE'] }
  const terms: MandateTerms = { limits, body: null, total: null, perDay: 1 }
  assert.equal(mandateFault(terms, bare), null)
  assert.equal(mandateAmount(terms, QUERY, bare), 0)
  assert.equal(mandateAmount(terms, QUERY, { ...FROM, method: 'DELETE' }), null)
})

test('the terms are those of the approved request', () => {
  const limits = (part: object) => ({ ...TERMS, limits: { ...TERMS.limits, ...part } })
  const rules = (part: object) => ({ ...TERMS, body: { ...TERMS.body, ...part } })
  const refused: [RegExp, MandateTerms][] = [
    [/form/, limits({ paths: ['orders'] })],
    [/form/, limits({ paths: [] })],
    [/one origin/, limits({ origins: ['https://evil.example'] })],
    [/one origin/, limits({ origins: ['https://shop.example', 'https://evil.example'] })],
    [/one method/, limits({ methods: ['POST', 'PUT'] })],
    [/paths/, limits({ paths: ['/baskets/*'] })],
    [/rule for each/, { ...TERMS, body: null }],
    [/exactly one rule/, rules({ '/more': 'any' })],
    [/exactly one rule/, { ...TERMS, body: { '/total': 'any' } }],
    [/must equal/, rules({ '/currency': { equals: '"USD"' } })],
    [/must equal/, rules({ '/currency': { equals: 'EUR' } })],
    [/amounts/, rules({ '/currency': { atMost: '50.00' } })],
    [/amounts/, rules({ '/total': { atMost: '"50.00"' } })],
    [/rule atMost/, rules({ '/total': 'any' })],
    [/rule atMost/, { ...TERMS, total: { pointer: '/toString', amount: '1', days: 1 } }],
    [/amount such/, { ...TERMS, total: { pointer: '/total', amount: '1e3', days: 1 } }],
  ]
  for (const [why, terms] of refused) assert.match(mandateFault(terms, FROM) ?? '', why)
})
