import type { OwnerAgent } from '@countersign/protocol'
import { AgentCard } from '@countersign/ui'
import { type ReactNode, useId } from 'react'
import { buttonClass } from '../../components/button.tsx'
import { Page, Section } from '../../components/page.tsx'
import { AvatarField } from './avatar-field.tsx'
import { ChannelsSection } from './channels-section.tsx'
import { GradeSection } from './grade-section.tsx'
import { History } from './history.tsx'
import { Identifiers } from './identifiers.tsx'
import { ProfileForm } from './profile-form.tsx'
import { RevokedProfile } from './revoked-profile.tsx'
import { Sharing } from './sharing.tsx'
import { StatusBanner } from './status-banner.tsx'
import { StatusSection } from './status-section.tsx'
import { UnsavedChangesDialog } from './unsaved-changes-dialog.tsx'
import { useAvatar } from './use-avatar.ts'
import { useProfile } from './use-profile.ts'

interface AgentEditorProps {
  readonly did: string
  readonly agent: OwnerAgent
  readonly above: ReactNode
}

export function AgentEditor({ did, agent, above }: AgentEditorProps) {
  const profile = useProfile(did, agent)
  const avatar = useAvatar(did)
  const id = useId()
  const revoked = agent.status === 'revoked'
  const croppedPicture = revoked ? null : avatar.preview
  const unsaved = profile.changed || (avatar.picture !== null && !revoked)

  return (
    <Page
      title={agent.displayName}
      above={above}
      actions={
        <a href={agent.certificateUrl} className={buttonClass()}>
          Public certificate
        </a>
      }
    >
      <StatusBanner status={agent.status} />
      <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <section
          aria-labelledby={id}
          className="flex flex-col gap-3 lg:sticky lg:top-8 lg:order-last"
        >
          <h2 id={id} className="text-soft">
            {unsaved ? 'As others would see it' : 'As others see it'}
          </h2>
          <AgentCard card={profile.preview} {...(croppedPicture && { picture: croppedPicture })} />
        </section>
        <div className="flex min-w-0 flex-col gap-8">
          {!revoked && (
            <Section title="What others see" lead="All of it is public.">
              <AvatarField agent={agent} avatar={avatar} />
              <ProfileForm did={did} profile={profile} />
            </Section>
          )}
          <StatusSection did={did} agent={agent} />
          {revoked && <RevokedProfile did={did} agent={agent} />}
          <GradeSection did={did} agent={agent} />
          <ChannelsSection did={did} agent={agent} />
          <Sharing did={did} agent={agent} />
          <Identifiers did={did} agent={agent} />
          <History did={did} />
        </div>
      </div>
      <UnsavedChangesDialog unsaved={unsaved} />
    </Page>
  )
}
