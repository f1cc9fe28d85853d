import type { Transfer } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../../api/use-may.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { isOpen, transfersQuery } from './queries.ts'
import { TransferItem } from './transfer-item.tsx'

/** Lists the transfers of agents from and to the owner, open ones first. */
export function TransfersPage() {
  const { data, error, isPending, refetch } = useQuery(transfersQuery)
  const may = useMay()
  const of = (direction: Transfer['direction']) =>
    data?.transfers
      .filter((each) => each.direction === direction)
      .toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))) ?? []
  return (
    <Page
      title="Transfers"
      above={
        <Link to="/agents" className="w-fit text-accent underline">
          All agents
        </Link>
      }
      lead="An agent can move to another owner. It keeps its DID, key, name and picture."
      actions={
        may('admin') && (
          <Link to="/transfers/new" className={buttonClass('primary')}>
            Offer agents
          </Link>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the transfers" />
          <Skeleton className="h-40 rounded-2xl" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data && (
        <>
          <Section
            title="Received"
            lead="Accept only agents that you expect: from then on, you answer for what they do."
          >
            <TransferList transfers={of('received')} none="No transfers received" />
          </Section>
          <Section title="Sent" lead="You can cancel a transfer until the agents move.">
            <TransferList transfers={of('sent')} none="No transfers sent" />
          </Section>
        </>
      )}
    </Page>
  )
}

interface TransferListProps {
  readonly transfers: readonly Transfer[]
  readonly none: string
}

function TransferList({ transfers, none }: TransferListProps) {
  if (transfers.length === 0) return <p>{none}</p>
  return (
    <ul className="@container flex flex-col divide-y divide-line">
      {transfers.map((each) => (
        <TransferItem key={each.id} transfer={each} />
      ))}
    </ul>
  )
}
