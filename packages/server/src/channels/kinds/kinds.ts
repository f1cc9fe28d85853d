import { a2a } from './a2a.ts'
import { bluesky } from './bluesky.ts'
import { domain } from './domain.ts'
import { github } from './github.ts'
import type { ChannelKind } from './kind.ts'
import { mastodon } from './mastodon.ts'
import { matrix } from './matrix.ts'
import { runtime } from './runtime.ts'
import { telegram } from './telegram.ts'

/** Every kind of channel that this service supports. To add one, add its file to this folder and its name to this list. */
export const CHANNEL_KINDS: readonly ChannelKind[] = [
  domain,
  a2a,
  bluesky,
  mastodon,
  github,
  telegram,
  matrix,
  runtime,
]
