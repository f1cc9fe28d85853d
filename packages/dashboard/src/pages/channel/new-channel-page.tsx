import type { ChannelKindInWords, Grade, OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { WithAgent } from '../../agents/with-agent.tsx'
import { BackToAgent } from '../../channels/back-to-agent.tsx'
import { channelKindsQuery } from '../../channels/queries.ts'
import { useProjectedGrade } from '../../channels/use-projected-grade.ts'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { HandleForm } from './handle-form.tsx'

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

interface KindOptionProps {
  readonly did: string
  readonly kind: ChannelKindInWords
  readonly chosen: boolean
  readonly onChoose: () => void
}

/** One kind of channel. The selected one shows the form for its handle. */
export function KindOption({ did, kind, chosen, onChoose }: KindOptionProps) {
  const id = useId()
  return (
    <div
      className={`rounded-2xl border bg-surface ${chosen ? 'border-accent ring-1 ring-accent' : 'border-line'}`}
    >
      <label className="flex cursor-pointer gap-4 px-5 py-4">
        <input
          type="radio"
          name="kind"
          checked={chosen}
          onChange={onChoose}
          aria-describedby={`${id}-proves`}
          aria-labelledby={`${id}-label`}
          className="mt-1 size-4.5 shrink-0 accent-accent"
        />
        <span className="flex min-w-0 flex-1 flex-col gap-1">
          <span id={`${id}-label`} className="font-semibold text-lg/6">
            {kind.label}
          </span>
          <span id={`${id}-proves`} className="text-pretty text-soft">
            {kind.proves}
          </span>
        </span>
      </label>
      {chosen && (
        <div className="border-line border-t px-5 py-5">
          <HandleForm did={did} kind={kind} />
        </div>
      )}
    </div>
  )
}
