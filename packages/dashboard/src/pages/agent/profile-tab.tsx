import { useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { useAgent } from './agent-tabs.ts'
import { AvatarField } from './avatar-field.tsx'
import { BesideCard } from './beside-card.tsx'
import { ProfileForm } from './profile-form.tsx'
import { RevokedProfile } from './revoked-profile.tsx'
import { useAvatar } from './use-avatar.ts'
import { useProfile } from './use-profile.ts'

export function ProfileTab() {
  const { did, agent } = useAgent()
  const profile = useProfile(did, agent)
  const avatar = useAvatar(did)
  const revoked = agent.status === 'revoked'
  const unsaved = profile.changed || (avatar.picture !== null && !revoked)

  return (
    <BesideCard
      title={unsaved ? 'Preview of the public card' : 'Public card'}
      card={profile.preview}
      picture={revoked ? null : avatar.preview}
    >
      {revoked ? (
        <RevokedProfile did={did} agent={agent} />
      ) : (
        <Section title="Public profile" lead="Everyone can see it on the certificate.">
          <AvatarField agent={agent} avatar={avatar} />
          <ProfileForm did={did} profile={profile} />
        </Section>
      )}
      <UnsavedChangesDialog unsaved={unsaved} />
    </BesideCard>
  )
}

interface UnsavedChangesDialogProps {
  readonly unsaved: boolean
}

export function UnsavedChangesDialog({ unsaved }: UnsavedChangesDialogProps) {
  const blocker = useBlocker({
    // An expired session must redirect to the sign-in page despite unsaved changes.
    shouldBlockFn: ({ next }) => unsaved && next.routeId !== '/signed-out/sign-in',
    enableBeforeUnload: () => unsaved,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      open={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
      action="Leave without saving"
      onConfirm={async () => blocker.proceed?.()}
    >
      <p>Your unsaved changes will be lost.</p>
    </ConfirmDialog>
  )
}
