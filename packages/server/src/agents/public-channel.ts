import type { ChannelEvidence } from '@countersign/protocol'
import type { Site } from '../base/site.ts'

/** A channel as pages and cards show it. */
export interface PublicChannel {
  /** The display name of the kind, or the kind's id if this release does not know it. */
  readonly label: string
  /** A sentence that says what the channel proves, or null if the kind is unknown. */
  readonly proves: string | null
  readonly handleOrDomain: string
  /** The https URL of the channel, or null. */
  readonly link: string | null
}

/** Adds the texts and the link of its kind to a channel. */
export function publicChannel(
  { channelKinds }: Site,
  { kind, handleOrDomain }: Pick<ChannelEvidence, 'kind' | 'handleOrDomain'>,
): PublicChannel {
  const known = channelKinds.get(kind)
  return {
    label: known?.label ?? kind,
    proves: known?.proves ?? null,
    handleOrDomain,
    link: safeLink(known?.link(handleOrDomain) ?? null),
  }
}

function safeLink(link: string | null): string | null {
  return link !== null && URL.canParse(link) && new URL(link).protocol === 'https:' ? link : null
}
