// What the SDKs of three clouds find on the machine that they run on, and one
// request by each. Usage: node metadata.mjs aws|gcp|azure ORIGIN
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.NODE_PATH}/`);
const [, , cloud, origin] = process.argv;

async function get(headers) {
  const answer = await fetch(`https://${origin}/x`, { headers });
  return { status: answer.status, body: await answer.text() };
}

const clouds = {
  async aws() {
    const imds = require('@smithy/credential-provider-imds');
    return imds.fromInstanceMetadata({ maxRetries: 0, timeout: 5000 })();
  },
  async gcp() {
    const { GoogleAuth } = require('google-auth-library');
    const auth = new GoogleAuth({
      scopes: ['https://www.googleapis.com/auth/cloud-platform'] });
    const client = await auth.getClient();
    const answer = await client.request({
      url: `https://${origin}/x`, responseType: 'text' });
    return { kind: client.constructor.name, project: await auth.getProjectId(),
      token: (await client.getAccessToken()).token, status: answer.status,
      email: (await auth.getCredentials()).client_email };
  },
  async azure() {
    const { DefaultAzureCredential } = require('@azure/identity');
    const found = await new DefaultAzureCredential().getToken(
      'https://management.azure.com/.default');
    return { token: found.token, ends: found.expiresOnTimestamp,
      ...await get({ authorization: `Bearer ${found.token}` }) };
  },
};

console.log(JSON.stringify(await clouds[cloud]()));
