import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  approvalChallenge,
  approvalRequestFault,
  approvalStatement,
  assertionEvidence,
  encodeBase64Url,
  queryRows,
  textDigest,
  utf8,
} from '../../src/index.ts'

const SERVICE = 'https://id.example'
const REQUEST = {
  method: 'POST',
  url: 'https://shop.example/orders/4711/confirm?copy=1',
  contentType: 'application/json',
  body: '{"total":"129.00","currency":"EUR"}',
}

test('the challenge is the hash of the statement, in the name of the deployment', () => {
  const statement = approvalStatement({
    url: REQUEST.url,
    service: SERVICE,
    seconds: 600,
    salt: 'A'.repeat(43),
    method: 'POST',
    message: textDigest('Printer paper, as every month'),
    contentType: REQUEST.contentType,
    body: textDigest(REQUEST.body),
    approval: `ap_${'A'.repeat(22)}`,
    agent: 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj',
  })
  const body = createHash('sha256').update(REQUEST.body).digest('base64url')
  const message = createHash('sha256').update('Printer paper, as every month').digest('base64url')
  assert.equal(
    statement,
    `{"agent":"svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj","approval":"ap_${'A'.repeat(22)}","body":"${body}",` +
      `"contentType":"application/json","message":"${message}","method":"POST","salt":"${'A'.repeat(43)}",` +
      `"seconds":600,"service":"https://id.example","url":"${REQUEST.url}"}`,
  )
  for (const name of ['svc', 'acme']) {
    const expected = createHash('sha256').update(`${name}-approval-v1\n${statement}`).digest()
    assert.deepEqual(Buffer.from(approvalChallenge(name, statement)), expected)
  }
})

test('the evidence binds every byte of an assertion', () => {
  const parts = {
    authenticatorData: utf8('authenticator'),
    clientData: utf8('{}'),
    signature: utf8('sig'),
  }
  const clientData = createHash('sha256').update('{}').digest()
  const all = Buffer.concat([utf8('authenticator'), clientData, utf8('sig')])
  assert.equal(assertionEvidence(parts), encodeBase64Url(createHash('sha256').update(all).digest()))
})

test('a request that all servers read alike can be approved', () => {
  const base = { ...REQUEST, contentType: null, body: null }
  for (const request of [
    REQUEST,
    base,
    { ...base, method: 'DELETE' },
    { ...base, method: 'GET', url: 'http://127.0.0.1:8080/' },
    { ...base, url: 'http://localhost/?' },
    { ...base, url: 'https://shop.example:8443/a%20b/c' },
    { ...base, url: 'https://xn--bcher-kva.example/?q=a+b&r=%2B&s=%C3%BC' },
    { ...base, url: `https://shop.example/${'a'.repeat(1003)}` },
  ]) {
    assert.equal(approvalRequestFault(request, SERVICE), null, request.url)
  }
})

test('every other request is refused with a sentence', () => {
  const url = (text: string) => ({ ...REQUEST, url: text })
  const parameters = Array.from({ length: 21 }, (_, at) => `a${at}=1`).join('&')
  const refused = [
    { ...REQUEST, method: 'CONNECT' },
    { ...REQUEST, method: 'OPTIONS' },
    { ...REQUEST, method: 'TRACE' },
    { ...REQUEST, method: 'post' },
    { ...REQUEST, method: 'A'.repeat(17) },
    { ...REQUEST, method: 'GET' },
    { ...REQUEST, body: null },
    { ...REQUEST, contentType: null },
    { ...REQUEST, contentType: 'application/json; charset=utf-8' },
    { ...REQUEST, contentType: 'text/plain' },
    { ...REQUEST, body: '[]' },
    { ...REQUEST, body: '' },
    { ...REQUEST, body: `{"a":"${'ü'.repeat(2045)}"}` },
    { ...REQUEST, body: '{"a":"\ud800"}' },
    url('shop.example/'),
    url('/orders'),
    url('https://shop.example'),
    url('https://SHOP.example/'),
    url('https://shop.example:443/'),
    url('https://shop.example/a/../b'),
    url('https://bücher.example/'),
    url('https://shop.example/ü'),
    url('http://shop.example/'),
    url('ftp://shop.example/'),
    url('https://user@shop.example/'),
    url('https://shop.example/#'),
    url('https://shop.example/a//b'),
    url('https://shop.example/a;b'),
    url('https://shop.example/a%2fb'),
    url('https://shop.example/%31'),
    url('https://a!b.example/'),
    url(`https://shop.example/${'a'.repeat(1004)}`),
    url('https://id.example/api/account/approvals'),
    url('https://shop.example/?amount=%31%30'),
    url('https://shop.example/?am%6funt=1'),
    url('https://shop.example/?a=1&a=2'),
    url('https://shop.example/?a=1&A=2'),
    url('https://shop.example/?a=1;b=2'),
    url('https://shop.example/?a=%FF'),
    url('https://shop.example/?%FF=1'),
    url('https://shop.example/?a=1&&b=2'),
    url('https://shop.example/?=1'),
    url(`https://shop.example/?${parameters}`),
  ]
  for (const request of refused) {
    const fault = approvalRequestFault(request, SERVICE)
    assert.match(String(fault), /^[A-Z].{10,200}\.$/, JSON.stringify(request))
  }
})

test('each parameter of a query is a row, decoded and as written', () => {
  assert.deepEqual(queryRows('https://shop.example/?a=x+y%2B&b%5B%5D=%C3%BC=&c'), [
    { name: 'a', value: 'x y+', written: 'a=x+y%2B' },
    { name: 'b[]', value: 'ü=', written: 'b%5B%5D=%C3%BC=' },
    { name: 'c', value: '', written: 'c' },
  ])
  assert.deepEqual(queryRows('https://shop.example/'), [])
})

test('encoding a character that needs none is refused, any other encoding is not', () => {
  for (let code = 0x20; code < 0x7f; code++) {
    const hex = code.toString(16)
    const isUnreserved = /[A-Za-z0-9._~-]/.test(String.fromCharCode(code))
    for (const encoded of [hex, hex.toUpperCase()]) {
      const rows = queryRows(`https://shop.example/?a=%${encoded}`)
      assert.equal(rows === null, isUnreserved, encoded)
    }
  }
})
