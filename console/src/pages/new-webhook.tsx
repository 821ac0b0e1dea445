import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { WebhookEndpointWithSecret } from '../../../src/wire/webhooks.ts'
import { call } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { Head } from '../parts/head.tsx'
import { Secret } from '../parts/secret.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { endpointsPath, eventTypes, isOfWebhooks } from '../webhooks.ts'
import { WebhookForm } from './webhook-form.tsx'

export function NewWebhookPage() {
  const t = useText()
  const queries = useQueryClient()
  const [issued, setIssued] = useState<WebhookEndpointWithSecret | null>(null)
  if (!useMay()('create')) return <NotFound />
  return (
    <>
      <Head
        title={issued ? issued.name : t('webhooks.create')}
        back={<Link to="/webhooks">{t('nav.webhooks')}</Link>}
      />
      {issued ? (
        <>
          <IssuedSigningSecret endpoint={issued} />
          <p>
            <Link to="/webhooks/$id" params={{ id: issued.id }}>
              {t('webhook.show')}
            </Link>
          </p>
        </>
      ) : (
        <WebhookForm
          values={{ name: '', url: '', event_types: eventTypes }}
          action={t('webhooks.create')}
          onSubmit={async (body) => {
            setIssued(await call<WebhookEndpointWithSecret>(endpointsPath, { method: 'POST', body }))
            await queries.invalidateQueries({ predicate: isOfWebhooks })
          }}
        />
      )}
    </>
  )
}

/** The new secret of an endpoint, and how a receiver checks with it that an event comes from here. */
export function IssuedSigningSecret({ endpoint }: { endpoint: WebhookEndpointWithSecret }) {
  const t = useText()
  const { signing_secret: secret, name } = endpoint
  const samples = {
    Node: `// npm install standardwebhooks\nimport { Webhook } from 'standardwebhooks'\n\nconst webhook = new Webhook(process.env.WEBHOOK_SECRET)\n// Throws if the signature is wrong. \`body\` is the text as it was received.\nconst event = webhook.verify(body, headers)`,
    Python: `# pip install standardwebhooks\nimport os\nfrom standardwebhooks import Webhook\n\nwebhook = Webhook(os.environ["WEBHOOK_SECRET"])\n# Raises an error if the signature is wrong. \`body\` is the text as it was received.\nevent = webhook.verify(body, headers)`,
    Shell: `export WEBHOOK_SECRET=${secret}`,
  }
  return <Secret title={t('webhook.secret', { name })} secret={secret} samples={samples} />
}
