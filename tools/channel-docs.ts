import { readFileSync, writeFileSync } from 'node:fs'
import { CHANNEL_KINDS } from '../packages/server/src/channels/kinds/kinds.ts'
import { withKinds } from './docs/channel-section.ts'

// npx node tools/channel-docs.ts: updates the generated part of docs/channels.md.
const page = `${import.meta.dirname}/../docs/channels.md`
writeFileSync(page, withKinds(readFileSync(page, 'utf8'), CHANNEL_KINDS))
