// The kernel of Java: `java Kernel REQUESTS_FILE MESSAGES_FILE`. A request is a line of a letter and texts in base64, separated by spaces.
//
//   S name value   sets a property
//   U name         removes it
//   R code         runs a cell, and is answered with its end
//   E              is answered with an end

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import sun.misc.Signal;

public final class Kernel {
    private static final List<String> IMPORTS =
        List.of("java.io", "java.math", "java.nio.file", "java.util", "java.util.function", "java.util.stream");

    private final OutputStream messages;
    private final JShell shell;

    private Kernel(OutputStream messages) {
        this.messages = messages;
        // In this process, so that cells have its properties and print to its streams.
        shell = JShell.builder().executionEngine("local").build();
        IMPORTS.forEach(name -> shell.eval("import " + name + ".*;"));
    }

    public static void main(String[] arguments) throws IOException {
        Kernel kernel = new Kernel(new FileOutputStream(arguments[1]));
        System.setOut(kernel.printTo("stdout"));
        System.setErr(kernel.printTo("stderr"));
        Signal.handle(new Signal("INT"), signal -> kernel.shell.stop());
        try (BufferedReader lines = new BufferedReader(new FileReader(arguments[0], StandardCharsets.US_ASCII))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) kernel.answer(line.split(" ", -1));
        }
        System.exit(0);
    }

    private void answer(String[] request) {
        switch (request[0]) {
            case "S" -> System.setProperty(textOf(request[1]), textOf(request[2]));
            case "U" -> System.clearProperty(textOf(request[1]));
            case "R" -> {
                runCell(textOf(request[1]));
                send("end");
            }
            default -> send("end");
        }
    }

    private static String textOf(String encoded) {
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }

    /** Its snippets one after the other, until one fails. The value of the last one is the cell's. */
    private void runCell(String code) {
        SnippetEvent last = null;
        String left = code;
        while (!left.isBlank()) {
            CompletionInfo next = shell.sourceCodeAnalysis().analyzeCompletion(left);
            boolean isComplete = next.completeness().isComplete();
            for (SnippetEvent event : shell.eval(isComplete ? next.source() : left)) {
                // Snippets that an earlier one made possible have events too.
                if (event.causeSnippet() != null) continue;
                if (tellFailure(event)) return;
                last = event;
            }
            left = isComplete ? next.remaining() : "";
        }
        if (last != null && last.value() != null && isExpression(last.snippet()))
            send("result", "text", unquoted(last.value()));
    }

    /** A string is shown as its value. JShell tells it as a literal. */
    private static String unquoted(String value) {
        if (value.length() < 2 || !value.startsWith("\"") || !value.endsWith("\"")) return value;
        String inside = value.substring(1, value.length() - 1);
        try {
            return inside.translateEscapes();
        } catch (IllegalArgumentException error) {
            return inside;
        }
    }

    private static boolean isExpression(Snippet snippet) {
        return switch (snippet.subKind()) {
            case TEMP_VAR_EXPRESSION_SUBKIND, VAR_VALUE_SUBKIND, ASSIGNMENT_SUBKIND, OTHER_EXPRESSION_SUBKIND -> true;
            default -> false;
        };
    }

    private boolean tellFailure(SnippetEvent event) {
        if (event.exception() != null) {
            tellException(event.exception());
            return true;
        }
        if (event.status() != Snippet.Status.REJECTED) return false;
        String why = shell.diagnostics(event.snippet())
            .map(fault -> fault.getMessage(Locale.ENGLISH))
            .collect(Collectors.joining("\n"));
        String name = "CompilationException";
        send("error", "name", name, "value", why, "traceback", name + ": " + why + "\n" + event.snippet().source());
        return true;
    }

    private void tellException(JShellException thrown) {
        String name = thrown instanceof EvalException inCell ? inCell.getExceptionClassName() : thrown.getClass().getName();
        String value = String.valueOf(thrown.getMessage());
        String frames = Stream.of(thrown.getStackTrace()).map(frame -> "\n    at " + frame).collect(Collectors.joining());
        send("error", "name", name, "value", value, "traceback", name + ": " + value + frames);
    }

    /** What is printed and the end of its line are two messages, as of E2B: a `PrintStream` writes both at once, and one of a subclass does not. */
    private PrintStream printTo(String type) {
        OutputStream sink = new OutputStream() {
            @Override
            public void write(int one) {
                write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int start, int length) {
                send(type, "text", new String(bytes, start, length, StandardCharsets.UTF_8));
            }
        };
        return new PrintStream(sink, true, StandardCharsets.UTF_8) {};
    }

    private synchronized void send(String type, String... fields) {
        StringBuilder line = new StringBuilder("{\"type\":").append(quoted(type));
        for (int at = 0; at < fields.length; at += 2)
            line.append(',').append(quoted(fields[at])).append(':').append(quoted(fields[at + 1]));
        try {
            messages.write(line.append("}\n").toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            // The server has ended.
            Runtime.getRuntime().halt(1);
        }
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') quoted.append('\\').append(one);
            else if (one < ' ' || Character.isSurrogate(one)) quoted.append(String.format("\\u%04x", (int) one));
            else quoted.append(one);
        }
        return quoted.append('"').toString();
    }
}
