import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CHANNEL_KINDS } from '../../packages/server/src/channels/kinds/kinds.ts'
import { withKinds } from './channel-section.ts'

const PAGE = readFileSync(`${import.meta.dirname}/../../docs/channels.md`, 'utf8')

test('docs/channels.md is up to date with the channel kinds: npx node tools/channel-docs.ts', () => {
  assert.equal(withKinds(PAGE, CHANNEL_KINDS), PAGE)
  for (const { id, tier } of CHANNEL_KINDS)
    assert.ok(PAGE.includes(`(\`${id}\`, tier ${tier})`), id)
})

test('a missing channel kind is detected, and a page without the generated part is refused', () => {
  assert.notEqual(withKinds(PAGE, CHANNEL_KINDS.slice(1)), PAGE)
  assert.throws(() => withKinds('# Channels\n', CHANNEL_KINDS))
})
