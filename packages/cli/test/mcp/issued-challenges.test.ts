import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { IssuedChallenges } from '@countersign/sdk/tools'

suite('issued challenges', () => {
  test('count once, for one agent, within five minutes', () => {
    let now = 1_000_000
    const issued = new IssuedChallenges(() => now)
    assert.equal(issued.put('one', 'did:1'), now + 300_000)
    issued.put('two', 'did:2')
    issued.put('three', 'did:3')
    now += 299_999
    assert.equal(issued.take('one'), 'did:1')
    assert.equal(issued.take('one'), null)
    assert.equal(issued.take('four'), null)
    now += 1
    assert.equal(issued.take('two'), null)
    now -= 1
    assert.equal(issued.take('two'), null, 'taken, though it was too old')
    assert.equal(issued.take('three'), 'did:3')
  })

  test('fill no memory: of too many the oldest go', () => {
    const issued = new IssuedChallenges(() => 0)
    for (let i = 0; i <= 10_000; i++) issued.put(`c${i}`, 'did')
    assert.equal(issued.take('c0'), null)
    assert.equal(issued.take('c1'), 'did')
    assert.equal(issued.take('c10000'), 'did')
  })
})
