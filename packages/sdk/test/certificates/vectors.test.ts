import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { statusAt } from '@countersign/protocol'
import {
  CountersignError,
  type IssuerKeys,
  readStatusList,
  verifyCertificate,
  verifyStaple,
} from '@countersign/sdk'
import { ROOT } from '../../../../test/support/service.ts'
import { readCases } from '../../../../test/support/vector-files.ts'
import { vectors as written } from './support/certificate-vectors.ts'

const FILE = 'certificates.json'

interface Vectors {
  readonly issuer: string
  readonly now: number
  readonly keySet: IssuerKeys
  readonly statusList: string
  readonly statusLists: { readonly uri: string }
}

const vectors: Vectors = JSON.parse(readFileSync(join(ROOT, 'vectors', FILE), 'utf8'))
const { issuer, keySet, statusList } = vectors
const now = () => vectors.now
const options = { issuers: [{ issuer, jwks: keySet }], statusLists: [statusList], now }
const isRefusal = (error: unknown) =>
  error instanceof CountersignError && /^(INVALID_TOKEN|CERTIFICATE_)/.test(error.code)

test('the file is what tools/write-certificate-vectors.ts writes', () => {
  assert.deepEqual(vectors, JSON.parse(JSON.stringify(written)))
})

test('certificates', async () => {
  for (const each of readCases<{
    token: string
    did: string
    keyThumbprint: string
    ownerChangedAt?: string
  }>(...([FILE, 'certificates', 'valid'] as const))) {
    const { did, keyThumbprint, ownerChangedAt } = await verifyCertificate(each.token, options)
    assert.deepEqual([did, keyThumbprint], [each.did, each.keyThumbprint], each.name)
    assert.equal(ownerChangedAt, each.ownerChangedAt ?? null, each.name)
  }
  for (const each of readCases<{ token: string }>(FILE, 'certificates', 'invalid')) {
    await assert.rejects(verifyCertificate(each.token, options), isRefusal, each.name)
  }
})

test('staples', async () => {
  for (const each of readCases<{ token: string; did: string; status: string }>(
    ...([FILE, 'staples', 'valid'] as const),
  )) {
    const { did, status } = await verifyStaple(each.token, options)
    assert.deepEqual([did, status], [each.did, each.status], each.name)
  }
  for (const each of readCases<{ token: string }>(FILE, 'staples', 'invalid')) {
    await assert.rejects(verifyStaple(each.token, options), isRefusal, each.name)
  }
})

test('status lists', async () => {
  const context = {
    issuer,
    uri: vectors.statusLists.uri,
    now: vectors.now,
    keysFor: () => keySet.keys,
  }
  for (const each of readCases<{ token: string; entries: Record<string, number> }>(
    ...([FILE, 'statusLists', 'valid'] as const),
  )) {
    const { bytes } = await readStatusList(each.token, context)
    for (const [idx, value] of Object.entries(each.entries)) {
      assert.equal(statusAt(bytes, Number(idx)), value, `${each.name}: ${idx}`)
    }
  }
  for (const each of readCases<{ token: string }>(FILE, 'statusLists', 'invalid')) {
    await assert.rejects(readStatusList(each.token, context), isRefusal, each.name)
  }
})
