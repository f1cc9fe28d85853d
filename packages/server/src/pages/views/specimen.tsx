import { AgentCard } from '@countersign/ui'
import type { PageContext } from './context.ts'

const PICTURE = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path fill="#0b5d4b" d="M0 0h64v64H0z"/><path fill="none" stroke="#e3f1ec" stroke-width="3" d="M12 40c8-26 14-26 16-6s8 14 12-4 8-12 12 6"/></svg>',
)}`

/** What a card looks like, of an agent that does not exist. */
export function Specimen({ context: { site } }: { readonly context: PageContext }) {
  return (
    <figure className="min-w-0">
      <AgentCard
        picture={PICTURE}
        card={{
          [site.naming.didField]: '',
          displayName: 'Specimen',
          username: 'specimen',
          description: 'Compares prices, fills baskets, and pays up to 50 euros.',
          avatarUrl: PICTURE,
          status: 'active',
          claimedAt: '2026-01-01T00:00:00.000Z',
          owner: { displayName: 'Ada Lovelace', username: 'ada' },
          verification: {
            provider: 'specimen',
            label: 'National eID',
            verifiedAt: '2026-01-01T00:00:00.000Z',
          },
          channels: [{ kind: 'domain', handleOrDomain: 'specimen.example' }],
          grade: 'A',
          tier: 2,
          gradeIsFallback: false,
          certificateUrl: `${site.baseUrl}/agent/specimen`,
        }}
      />
      <figcaption className="mt-3 text-sm text-soft">
        A card as everyone sees it. This one is made up.
      </figcaption>
    </figure>
  )
}
