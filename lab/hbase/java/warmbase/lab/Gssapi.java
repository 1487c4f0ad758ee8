package warmbase.lab;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslClientFactory;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;
import javax.security.sasl.SaslServerFactory;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSCredential;
import org.ietf.jgss.GSSException;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.MessageProp;
import org.ietf.jgss.Oid;

/**
 * The SASL mechanism GSSAPI of RFC 4752, on the GSS-API of the runtime. A complete JDK has it in the module
 * jdk.security.jgss, which the lab's runtime leaves out.
 */
public final class Gssapi extends Provider {
  private static final String MECHANISM = "GSSAPI";
  private static final String KERBEROS = "1.2.840.113554.1.2.2"; // RFC 4121
  private static final int LARGEST_BYTES = 0xFFFF;
  /** The names of the qualities of protection; the bit of each in a message is 1, 2 and 4. */
  private static final List<String> QUALITIES = List.of("auth", "auth-int", "auth-conf");

  public Gssapi() {
    super("WarmbaseLab", "1", "SASL mechanism GSSAPI");
    put("SaslClientFactory." + MECHANISM, Factory.class.getName());
    put("SaslServerFactory." + MECHANISM, Factory.class.getName());
  }

  /** Makes both sides of an exchange. */
  public static final class Factory implements SaslClientFactory, SaslServerFactory {
    @Override
    public SaslClient createSaslClient(
        String[] mechanisms, String user, String protocol, String server, Map<String, ?> properties, CallbackHandler handler)
        throws SaslException {
      if (!Arrays.asList(mechanisms).contains(MECHANISM)) {
        return null;
      }
      try {
        GSSManager manager = GSSManager.getInstance();
        Oid kerberos = new Oid(KERBEROS);
        GSSName name = manager.createName(protocol + "@" + server, GSSName.NT_HOSTBASED_SERVICE);
        GSSContext context = manager.createContext(name, kerberos, null, GSSContext.INDEFINITE_LIFETIME);
        context.requestMutualAuth(true);
        context.requestInteg(true);
        context.requestConf(true);
        return new Client(context, qualities(properties));
      } catch (GSSException error) {
        throw new SaslException("no context", error);
      }
    }

    @Override
    public SaslServer createSaslServer(
        String mechanism, String protocol, String server, Map<String, ?> properties, CallbackHandler handler)
        throws SaslException {
      if (!mechanism.equals(MECHANISM)) {
        return null;
      }
      try {
        GSSManager manager = GSSManager.getInstance();
        GSSName name = manager.createName(protocol + "@" + server, GSSName.NT_HOSTBASED_SERVICE, new Oid(KERBEROS));
        GSSCredential credential =
            manager.createCredential(
                name, GSSCredential.INDEFINITE_LIFETIME, new Oid(KERBEROS), GSSCredential.ACCEPT_ONLY);
        return new Server(manager.createContext(credential), qualities(properties), handler);
      } catch (GSSException error) {
        throw new SaslException("no credential", error);
      }
    }

    @Override
    public String[] getMechanismNames(Map<String, ?> properties) {
      return new String[] {MECHANISM};
    }

    private static List<String> qualities(Map<String, ?> properties) {
      Object stated = properties == null ? null : properties.get(Sasl.QOP);
      return stated == null ? List.of("auth") : Arrays.asList(stated.toString().replace(" ", "").split(","));
    }
  }

  /** What both sides share: the context, and the quality of protection that they agree on. */
  private abstract static class Side {
    final GSSContext context;
    final List<String> qualities;
    String quality;

    Side(GSSContext context, List<String> qualities) {
      this.context = context;
      this.qualities = qualities;
    }

    public String getMechanismName() {
      return MECHANISM;
    }

    public boolean isComplete() {
      return quality != null;
    }

    public Object getNegotiatedProperty(String name) {
      return name.equals(Sasl.QOP) ? quality : null;
    }

    public byte[] wrap(byte[] message, int offset, int length) throws SaslException {
      try {
        return context.wrap(message, offset, length, new MessageProp(quality.equals("auth-conf")));
      } catch (GSSException error) {
        throw new SaslException("cannot wrap", error);
      }
    }

    public byte[] unwrap(byte[] message, int offset, int length) throws SaslException {
      try {
        MessageProp properties = new MessageProp(false);
        byte[] plain = context.unwrap(message, offset, length, properties);
        if (quality.equals("auth-conf") && !properties.getPrivacy()) {
          throw new SaslException("the message is not encrypted");
        }
        return plain;
      } catch (GSSException error) {
        throw new SaslException("cannot unwrap", error);
      }
    }

    public void dispose() throws SaslException {
      try {
        context.dispose();
      } catch (GSSException error) {
        throw new SaslException("cannot dispose", error);
      }
    }

    /** The four bytes of RFC 4752, 3.1: qualities as bits, and the largest message. */
    byte[] offer(int bits) throws GSSException {
      byte[] message = ByteBuffer.allocate(4).putInt(bits << 24 | LARGEST_BYTES).array();
      return context.wrap(message, 0, message.length, new MessageProp(false));
    }

    static int bit(String name) {
      return 1 << QUALITIES.indexOf(name);
    }
  }

  private static final class Client extends Side implements SaslClient {
    Client(GSSContext context, List<String> qualities) {
      super(context, qualities);
    }

    @Override
    public boolean hasInitialResponse() {
      return true;
    }

    @Override
    public byte[] evaluateChallenge(byte[] challenge) throws SaslException {
      try {
        if (!context.isEstablished()) {
          byte[] token = context.initSecContext(challenge, 0, challenge.length);
          return token == null ? new byte[0] : token;
        }
        int offered = context.unwrap(challenge, 0, challenge.length, new MessageProp(false))[0];
        String chosen =
            qualities.stream()
                .filter(name -> (offered & bit(name)) != 0)
                .findFirst()
                .orElseThrow(() -> new SaslException("no quality of protection in common"));
        byte[] answer = offer(bit(chosen));
        quality = chosen;
        return answer;
      } catch (GSSException error) {
        throw new SaslException("GSS initiate failed", error);
      }
    }
  }

  private static final class Server extends Side implements SaslServer {
    private final CallbackHandler handler;
    private boolean offered;
    private String user;

    Server(GSSContext context, List<String> qualities, CallbackHandler handler) {
      super(context, qualities);
      this.handler = handler;
    }

    @Override
    public byte[] evaluateResponse(byte[] response) throws SaslException {
      try {
        if (!context.isEstablished()) {
          byte[] token = context.acceptSecContext(response, 0, response.length);
          if (token != null) {
            return token;
          }
        }
        if (!offered) {
          offered = true;
          return offer(qualities.stream().mapToInt(Side::bit).sum());
        }
        byte[] answer = context.unwrap(response, 0, response.length, new MessageProp(false));
        String chosen = QUALITIES.get(Integer.numberOfTrailingZeros(answer[0]));
        if (!qualities.contains(chosen)) {
          throw new SaslException("the client chose " + chosen);
        }
        String peer = context.getSrcName().toString();
        String named = new String(answer, 4, answer.length - 4, StandardCharsets.UTF_8);
        AuthorizeCallback authorisation = new AuthorizeCallback(peer, named.isEmpty() ? peer : named);
        handler.handle(new Callback[] {authorisation});
        if (!authorisation.isAuthorized()) {
          throw new SaslException(peer + " is not authorised");
        }
        user = authorisation.getAuthorizedID();
        quality = chosen;
        return null;
      } catch (SaslException error) {
        throw error;
      } catch (Exception error) {
        throw new SaslException("GSS accept failed", error);
      }
    }

    @Override
    public String getAuthorizationID() {
      return user;
    }
  }
}
