import type { OwnerAgent } from '@countersign/protocol'
import { getRouteApi, Link, Outlet, useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { WithAgent } from '../../agents/with-agent.tsx'
import { buttonClass } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { TabLinks } from '../../components/tab-links.tsx'
import { AGENT_TABS, AgentContext } from './agent-tabs.ts'
import { RecoveryNote } from './recovery-note.tsx'
import { StatusBanner } from './status-banner.tsx'

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
      <TabLinks label="Agent" tabs={AGENT_TABS} params={{ did }} />
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

interface TabContentProps {
  readonly tab: string
  readonly children: ReactNode
}

/** Moves the focus to the content after another tab was selected, so that screen readers announce it. */
function TabContent({ tab, children }: TabContentProps) {
  const content = useRef<HTMLElement>(null)
  const shown = useRef(tab)
  useEffect(() => {
    if (shown.current !== tab) content.current?.focus({ preventScroll: true })
    shown.current = tab
  }, [tab])
  return (
    <section ref={content} tabIndex={-1} aria-label={`${tab} tab`} className="outline-hidden">
      {children}
    </section>
  )
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
