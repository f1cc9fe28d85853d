import type { ChannelFact } from '@countersign/protocol'
import type { Site } from '../core/site.ts'

/** A channel in the words of pages and cards. */
export interface PublicChannel {
  /** The kind, in words; one that this release no longer knows goes by its id. */
  readonly label: string
  /** What it proves, in a sentence, where the kind is known. */
  readonly proves: string | null
  readonly handleOrDomain: string
  /** Where people find it: an address with https, or null. */
  readonly link: string | null
}

export function publicChannel(
  { channelKinds }: Site,
  { kind, handleOrDomain }: Pick<ChannelFact, 'kind' | 'handleOrDomain'>,
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
