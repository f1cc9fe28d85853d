import type { EndedAccess } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { rulesQuery } from '../enrolment/queries.ts'
import { grantIssuersQuery } from '../grant-issuers/queries.ts'
import { webhooksQuery } from '../webhooks/queries.ts'
import { endedTexts } from './ended-texts.ts'

interface EndedDialogProps {
  readonly title: string
  readonly ended: EndedAccess
  /** Whether one's own membership ended, so that there is nothing to review. */
  readonly isOwn?: boolean
  readonly onClose: () => void
}

/** Shows what ended with a membership or a role, and what goes on and should be reviewed. */
export function EndedDialog({ title, ended, isOwn = false, onClose }: EndedDialogProps) {
  const texts = endedTexts(ended)
  return (
    <Dialog open onClose={onClose} title={title}>
      {texts.length === 0 ? (
        <p>Nothing else ended.</p>
      ) : (
        <ul className="flex list-disc flex-col gap-1.5 pl-5">
          {texts.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      {!isOwn && <ToReview toReview={ended.toReview} />}
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {isOwn ? 'Continue with your own account' : 'Done'}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

/** What the person created and what goes on, since stopping it would be an outage. */
function ToReview({ toReview }: Pick<EndedAccess, 'toReview'>) {
  const { webhooks, grantIssuers, enrolmentRules } = toReview
  const may = useMay()
  const endpoints = useQuery({
    ...webhooksQuery,
    enabled: webhooks.length > 0 && may('manager'),
  }).data?.webhooks
  const issuers = useQuery({ ...grantIssuersQuery, enabled: grantIssuers.length > 0 }).data?.issuers
  const rules = useQuery({ ...rulesQuery, enabled: enrolmentRules.length > 0 }).data?.rules
  if (webhooks.length + grantIssuers.length + enrolmentRules.length === 0) return null
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">Review what they created and what goes on</p>
      <ul className="flex list-disc flex-col gap-1.5 pl-5">
        {webhooks.map((id) => (
          <li key={id} className="wrap-anywhere">
            Webhook{' '}
            <Link to="/webhooks/$webhook" params={{ webhook: id }} className={LINK}>
              {endpoints?.find((each) => each.id === id)?.url ?? id}
            </Link>
          </li>
        ))}
        {grantIssuers.map((id) => (
          <li key={id} className="wrap-anywhere">
            Grant issuer{' '}
            <Link to="/grant-issuers" className={LINK}>
              {issuers?.find((each) => each.id === id)?.name ?? id}
            </Link>
          </li>
        ))}
        {enrolmentRules.map((id) => (
          <li key={id} className="wrap-anywhere">
            Enrolment rule{' '}
            <Link to="/enrolment/$rule" params={{ rule: id }} className={LINK}>
              {rules?.find((each) => each.id === id)?.name ?? id}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

const LINK = 'text-accent underline underline-offset-4'
