import type { ChannelKindInWords, Grade, OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { WithAgent } from '../../agents/with-agent.tsx'
import { BackToAgent } from '../../channels/back-to-agent.tsx'
import { channelKindsQuery } from '../../channels/queries.ts'
import { useProjectedGrade } from '../../channels/use-projected-grade.ts'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { KindOption } from './kind-option.tsx'

const route = getRouteApi('/signed-in/agents/$did/channels/new')

const TITLE = 'Add a channel'

export function NewChannelPage() {
  const { did } = route.useParams()
  return (
    <WithAgent
      did={did}
      title={TITLE}
      above={<BackToAgent did={did} name={undefined} />}
      placeholder={<Skeleton className="h-160 rounded-2xl" />}
    >
      {(agent) => <NewChannel did={did} agent={agent} />}
    </WithAgent>
  )
}

interface NewChannelProps {
  readonly did: string
  readonly agent: OwnerAgent
}

function NewChannel({ did, agent }: NewChannelProps) {
  const { data, error, isPending, refetch } = useQuery(channelKindsQuery)
  return (
    <Page
      title={TITLE}
      above={<BackToAgent did={did} name={agent.displayName} />}
      lead={`Choose a place that you control and where ${agent.displayName} can be reached. You publish a text there, and the service checks it.`}
      width="narrow"
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the kinds of channel" />
          <Skeleton className="h-160 rounded-2xl" />
        </>
      )}
      {agent.status === 'revoked' ? (
        <Note>This agent is revoked. You cannot add channels to it.</Note>
      ) : (
        data && <Kinds did={did} agent={agent} kinds={data.kinds} />
      )}
    </Page>
  )
}

interface KindsProps extends NewChannelProps {
  readonly kinds: readonly ChannelKindInWords[]
}

/** Strongest kinds first, with the first selected. */
function Kinds({ did, agent, kinds }: KindsProps) {
  const [chosen, choose] = useState(kinds[0]?.id)
  const projectedGrade = useProjectedGrade(did, agent)
  return [...Map.groupBy(kinds, ({ tier }) => tier)].map(([tier, ofTier]) => (
    <fieldset key={tier} className="flex min-w-0 flex-col gap-3">
      <legend className="mb-3 w-full">
        <span className="block font-semibold text-xl tracking-tight">
          Tier {tier}: {tier} of the grade’s 4 points
        </span>
        <span className="block min-h-6">
          {projectedGrade && (
            <Effect
              agent={agent}
              tier={tier}
              from={projectedGrade.now}
              to={projectedGrade.withTier(tier)}
            />
          )}
        </span>
      </legend>
      {ofTier.map((kind) => (
        <KindOption
          key={kind.id}
          did={did}
          kind={kind}
          chosen={kind.id === chosen}
          onChoose={() => choose(kind.id)}
        />
      ))}
    </fieldset>
  ))
}

interface EffectProps {
  readonly agent: OwnerAgent
  readonly tier: number
  readonly from: Grade
  readonly to: Grade
}

/** How verifying a channel of the tier would change the grade. */
function Effect({ agent, tier, from, to }: EffectProps) {
  if (agent.status === 'suspended') {
    return <span className="text-soft">The grade stays E while the agent is suspended.</span>
  }
  if (from === to) {
    return (
      <span className="text-soft">
        The grade stays {to}
        {agent.tier === tier && ', even if your other channel expires'}
      </span>
    )
  }
  return (
    <span className="font-medium text-good">
      <span aria-hidden="true">↑ </span>Raises the grade from {from} to {to}
    </span>
  )
}
