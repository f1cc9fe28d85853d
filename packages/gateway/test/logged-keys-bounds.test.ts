import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyThumbprint, namingFor } from '@countersign/protocol'
import { CountersignError, newKey } from '@countersign/sdk'
import { keyEntry, testLog, testNoteKey } from '../../../test/support/test-log.ts'
import type { LookupResult } from '../src/decision/decide.ts'
import { LoggedKeys } from '../src/logged-keys.ts'
import { readPolicy } from '../src/policy/read-policy.ts'
import { Clock } from './support/clock.ts'

const ISSUER = 'https://id.example'
const logKey = testNoteKey('id.example/log/1')
const policy = `log ${logKey.verifierKey}\nquorum none\n`
const rules = [readPolicy({ requireLogged: { policy } }, namingFor())]
const didOf = (i: number) => `svc:agent:${String(i).replaceAll('0', 'x').padStart(24, 'A')}`

test('a flood of keys that are not logged is forgotten, and evicts none that is', async () => {
  const { publicKey } = await newKey()
  const keyid = keyThumbprint(publicKey)
  const log = testLog(logKey)
  log.add(keyEntry({ did: didOf(0), keyThumbprint: keyid, keySequence: 1 }))
  const proof = await log.proof(0)
  const asked: string[] = []
  const client = {
    async logProof(did: string) {
      asked.push(did)
      if (did === didOf(0)) return proof
      throw new CountersignError('NOT_FOUND', 'No.')
    },
  }
  const clock = new Clock()
  const keys = new LoggedKeys(new Map([[ISSUER, client]]), {
    policies: [policy],
    header: 'ServiceID',
    timeoutMs: 30_000,
    now: clock.now,
  })
  const stateOf = async (i: number) => {
    const did = didOf(i)
    const agent = {
      ...({ did, status: 'active', verified: true, identityMethod: 'x', grade: null } as const),
      key: { publicKey, keyid },
      keySequence: 1,
    }
    const caller = { kind: 'named', did, proof: 'signature' } as const
    const answer: LookupResult = { kind: 'answered', agent }
    const result = await keys.complete(answer, { rules, caller, issuer: ISSUER })
    return result.kind === 'answered' ? result.agent?.logged?.get(policy) : undefined
  }
  assert.equal(await stateOf(0), 'logged')
  for (let i = 1; i <= 1_001; i++) assert.equal(await stateOf(i), 'key-not-logged')
  assert.equal(asked.length, 1_002)
  // The newest and the logged one are known, the oldest other one is not.
  assert.equal(await stateOf(1_001), 'key-not-logged')
  assert.equal(await stateOf(0), 'logged')
  assert.equal(asked.length, 1_002)
  assert.equal(await stateOf(1), 'key-not-logged')
  assert.deepEqual(asked.slice(1_002), [didOf(1)])
})
