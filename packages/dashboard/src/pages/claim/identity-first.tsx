import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../parts/button.tsx'
import { Section } from '../../parts/page.tsx'

/** Nobody stands behind an agent who has not proved who they are. */
export function IdentityFirst() {
  return (
    <Section
      title="First, who are you?"
      lead="A certificate says who stands behind an agent, so that has to be known first. You have no verified identity at present: none was made, or the last one has expired."
    >
      <p className="max-w-2xl text-pretty">
        You prove it once, with a provider of your choice, and stand behind as many agents as you
        like from then on.
      </p>
      <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
        Verify your identity
      </Link>
    </Section>
  )
}
