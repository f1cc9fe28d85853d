import { type Members, ROLES } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { membersQuery } from '../../organisations/queries.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { MemberItem } from './member-item.tsx'

type Member = Members['members'][number]

/** With more members, there is a field to find one. */
const MANY = 10

/** Lists the members, admins first. */
export function MembersTab() {
  const { data, error, isPending, refetch } = useQuery(membersQuery)
  const may = useMay()
  const [inviting, setInviting] = useState(false)
  const [search, setSearch] = useState('')
  const members = data?.members.toSorted(byRole) ?? []
  const found = members.filter((each) => matches(each, search))

  return (
    <Section
      title={data === undefined ? 'Members' : memberCount(members.length)}
      actions={
        may('admin') && (
          <Button variant="primary" onClick={() => setInviting(true)}>
            Invite someone
          </Button>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the members" />
          <Skeleton className="h-40" />
        </>
      )}
      {members.length > MANY && (
        <div className="max-w-sm">
          <TextField
            label="Find a member"
            hint="By name or username."
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        </div>
      )}
      <p role="status" className="sr-only">
        {search !== '' && `${memberCount(found.length)} found.`}
      </p>
      {members.length > 0 && found.length === 0 && <p>No member matches.</p>}
      {found.length > 0 && (
        <ul className="@container flex flex-col divide-y divide-line">
          {found.map((member) => (
            <MemberItem key={member.id} member={member} />
          ))}
        </ul>
      )}
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Section>
  )
}

function memberCount(count: number): string {
  return count === 1 ? '1 member' : `${count} members`
}

function byRole(a: Member, b: Member): number {
  return ROLES.indexOf(b.role) - ROLES.indexOf(a.role) || a.since.localeCompare(b.since)
}

function matches({ displayName, username = '' }: Member, search: string): boolean {
  const wanted = search.trim().toLowerCase().replace(/^@/, '')
  return displayName.toLowerCase().includes(wanted) || username.includes(wanted)
}
