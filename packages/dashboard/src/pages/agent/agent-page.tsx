import type { OwnerAgent } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useRouterState } from '@tanstack/react-router'
import { keysQuery } from '../../agents/queries.ts'
import { WithAgent } from '../../agents/with-agent.tsx'
import { useMay } from '../../api/use-may.ts'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { TabContent, TabLinks } from '../../components/tab-links.tsx'
import { AGENT_TABS, AgentContext } from './agent-tabs.ts'
import { OwnerChangedNote } from './owner-changed-note.tsx'

const route = getRouteApi('/signed-in/agents/$did')

const BACK = (
  <Link to="/agents" className="w-fit text-accent underline">
    All agents
  </Link>
)

/** The frame of an agent's tabs. */
export function AgentPage() {
  const { did } = route.useParams()
  return (
    <WithAgent did={did} title="Agent" above={BACK} placeholder={<Placeholder />}>
      {(agent) => <LoadedAgent key={did} did={did} agent={agent} />}
    </WithAgent>
  )
}

function LoadedAgent({ did, agent }: { readonly did: string; readonly agent: OwnerAgent }) {
  const tab = useCurrentTab(did)
  const may = useMay()
  const tabs = AGENT_TABS.filter((each) => may('least' in each ? each.least : 'viewer'))
  return (
    <Page
      title={agent.displayName}
      subtitle={tab}
      place={`/agents/${did}`}
      above={BACK}
      actions={
        <a href={agent.certificateUrl} className={buttonClass()}>
          Public certificate
        </a>
      }
    >
      <StatusBanner status={agent.status} />
      {tab !== 'Keys' && <RecoveryNote did={did} />}
      <OwnerChangedNote did={did} agent={agent} />
      <TabLinks label="Agent" tabs={tabs} params={{ did }} />
      <TabContent tab={tab}>
        <AgentContext value={{ did, agent }}>
          <Outlet />
        </AgentContext>
      </TabContent>
    </Page>
  )
}

/** The label of the tab that is shown. */
function useCurrentTab(did: string): string {
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const current = AGENT_TABS.find(({ to }) => pathname?.endsWith(to.replace('$did', did)))
  return current?.label ?? AGENT_TABS[0].label
}

function Placeholder() {
  return (
    <>
      <Skeleton className="h-11" />
      <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Skeleton className="h-72 rounded-xl lg:order-last" />
        <Skeleton className="h-160 rounded-2xl" />
      </div>
    </>
  )
}

/** Says on the other tabs of an agent that a recovery of its key is pending. */
export function RecoveryNote({ did }: { readonly did: string }) {
  const recovery = useQuery(keysQuery(did)).data?.recovery ?? null
  if (recovery === null) return null
  return (
    <Note tone="warn">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="min-w-0 max-w-2xl text-pretty">
          A recovery of this agent’s key is pending.{' '}
          {recovery.effectiveAt === null ? (
            'The agent has not redeemed the recovery token.'
          ) : (
            <>
              A new key takes effect on <DateTime at={recovery.effectiveAt} as="minute" />.
            </>
          )}
        </p>
        <Link to="/agents/$did/keys" params={{ did }} className={buttonClass('secondary', 'small')}>
          Show the recovery
        </Link>
      </div>
    </Note>
  )
}

const TEXTS = {
  suspended: ['Suspended', 'Lookups answer “verified: false” until the suspension ends.'],
  revoked: ['Revoked', 'The certificate is permanently invalid.'],
} as const

const TONES = {
  suspended: 'border-warn bg-warn-wash text-warn',
  revoked: 'border-transparent bg-bad text-on-bad',
} as const

/** Makes it obvious that the certificate is not valid. */
export function StatusBanner({ status }: Pick<OwnerAgent, 'status'>) {
  if (status === 'active') return null
  const [title, sentence] = TEXTS[status]
  return (
    <div className={`flex items-center gap-4 rounded-2xl border-2 px-5 py-4 ${TONES[status]}`}>
      <StatusIcon status={status} className="size-9 shrink-0" />
      <p>
        <strong className="block font-bold text-2xl tracking-tight">{title}</strong>
        {sentence}
      </p>
    </div>
  )
}
